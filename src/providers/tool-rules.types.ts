/** What a provider that answers by rules knows when it decides on an agent's next tool. */
export interface ToolQuestion {
  /** The user's own words, without documents that were attached. */
  text: string;
  /** The same without what was given with them (`the attached report`): what is to be made. */
  wanted: string;
  /** Attached documents, then the words: where numbers are looked for. */
  material: string;
  /** A few words: for titles, pictures and searches. */
  topic: string;
  /** The first address in the words. */
  url: string | null;
  /** Knowledge files or memories hold something on it. */
  answered: boolean;
  /** The first address in what a tool answered that {@link ToolRules.findsPages}. */
  foundUrl: string | null;
  /** Another tool on offer {@link ToolRules.claims} the address, or the words. */
  claimed: { url: boolean; text: boolean };
  /** What the tools answered so far, each under its heading. */
  findings(): string[];
}

/**
 * How a provider without a language model uses a tool: its own rules, which stand in the tool's file. A model that can read goes by the
 * tool's description and schema alone.
 */
export interface ToolRules {
  /** It brings something from outside, marked as untrusted. Such tools are asked before those that make something. Default: no. */
  gathers?: boolean;
  /** Its answer lists addresses of pages. Default: no. */
  findsPages?: boolean;
  /** Addresses, or orders, that are this tool's where it is on offer: others leave them. */
  claims?: { url?(url: string): boolean; text?(text: string): boolean };
  /** Whether it is the next tool to call. */
  fits(question: ToolQuestion): boolean;
  /** The step's words on why. */
  thought: string;
  /** What it is given; null where nothing can be made for it after all. */
  input(question: ToolQuestion): Record<string, unknown> | null;
  /** Stands over its answer in a document. */
  heading: string;
  /** Its answer as a document shows it, where that is another; null: not at all. */
  section?(answer: string): { heading: string; text: string } | null;
  /** Stands before the address of what it made (`I drew the chart:`). Default: its answer is quoted. */
  made?: string;
}

/** By the names that the tools are offered under. In the order in which they are asked, apart from {@link ToolRules.gathers}. */
export type RulesOfTools = ReadonlyMap<string, ToolRules>;
