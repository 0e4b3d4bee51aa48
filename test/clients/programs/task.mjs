// What all programs do: one question, one tool, one answer, told as a line of JSON.
export const ORIGIN = process.env.PENSTOCK_ORIGIN;
export const MODEL = process.env.PENSTOCK_MODEL;
export const QUESTION = 'When is high tide at Lisbon?';

let calls = [];

/** The tool. */
export function lookUp({ place }) {
  calls.push(place);
  return `High tide at ${place} is at noon.`;
}

/** Says how one way of asking went. */
export async function tell(way, ask) {
  calls = [];
  try {
    console.log(JSON.stringify({ way, text: await ask(), calls }));
  } catch (error) {
    console.log(JSON.stringify({ way, fault: String(error?.stack ?? error), calls }));
  }
}
