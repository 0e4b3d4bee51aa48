import { registerEnumType } from 'type-graphql';
import { TEMPLATE_CATEGORIES } from '../src/agents/agents.types.js';
import { ACTOR_KINDS, AUDIT_ACTIONS } from '../src/audit/index.js';
import { USAGE_UPDATE_TYPES } from '../src/usage/stream.types.js';
import { BUCKET_ROWS } from '../src/contract/buckets.js';
import { BUDGET_PERIODS, BUDGET_SCOPES, BUDGET_UNITS } from '../src/contract/budgets.js';
import {
  BUCKETS,
  JOB_KINDS,
  JOB_STATUSES,
  KINDS,
  LIMITED_KINDS,
  MEMBER_ROLES,
  MODEL_TYPES,
  PLAN_CODES,
  RESPONSE_STATUSES,
  SCOPES,
  TIERS,
  TOOLS,
} from '../src/contract/words.js';
import type { Scope } from '../src/contract/words.js';
import { EDIT_OPERATIONS } from '../src/contract/edit-operations.js';
import { UPLOAD_PURPOSES } from '../src/files/index.js';
import { WEBHOOK_FORMATS } from '../src/webhooks/index.js';
import { OPERATION_STATUSES, USAGE_DIMENSIONS, USAGE_INTERVALS } from '../src/usage/usage.types.js';

/** The contract's words as a GraphQL enum whose names and values are the words themselves (decisions 8). */
export function words<Word extends string>(
  name: string,
  values: readonly Word[],
  description: string,
  meanings: Record<Word, string>,
) {
  const entries = Object.fromEntries(values.map((value) => [value, value])) as Record<Word, Word>;
  const valuesConfig = Object.fromEntries(
    values.map((value) => [value, { description: meanings[value] }]),
  ) as Record<Word, { description: string }>;
  registerEnumType(entries, { name, description, valuesConfig });
  return entries;
}

/** The descriptions of words from their rows, in the form for {@link words}. */
function meaningsOf<Word extends string, Row extends { name: Word }>(
  rows: readonly Row[],
  meaning: (row: Row) => string,
): Record<Word, string> {
  return Object.fromEntries(rows.map((row) => [row.name, meaning(row)])) as Record<Word, string>;
}

export const BucketName = words(
  'BucketName',
  BUCKETS,
  'A quota bucket.',
  meaningsOf(BUCKET_ROWS, ({ description }) => description),
);
export const BudgetScope = words('BudgetScope', BUDGET_SCOPES, 'The calls that a budget counts.', {
  organization: 'All calls of the organisation.',
  key: 'The calls of a key.',
  endUser: 'The calls for an end user.',
  tag: 'The calls with a tag.',
});
export const BudgetUnit = words('BudgetUnit', BUDGET_UNITS, 'The quantity that a budget counts.', {
  ...meaningsOf(BUCKET_ROWS, ({ description }) => description),
  usd: 'The cost of calls at their upstreams, in USD.',
});
export const BudgetPeriod = words(
  'BudgetPeriod',
  BUDGET_PERIODS,
  'The calendar period of a budget, in UTC.',
  {
    total: 'It never ends.',
    day: 'A day.',
    week: 'A week, from Monday on.',
    month: 'A month.',
  },
);
export const JobTool = words(
  'JobTool',
  TOOLS,
  "The kind of a job's result.",
  meaningsOf(JOB_KINDS, ({ job }) => job.description),
);
export const ResponseStatus = words('ModelResponseStatus', RESPONSE_STATUSES, 'The status of a response.', {
  queued: 'The response waits for a worker.',
  in_progress: 'A model is answering.',
  completed: 'The response is complete.',
  incomplete: 'The response was cut at its maximum of tokens, or by a filter of its maker.',
  failed: 'The response failed.',
  cancelled: 'The response was cancelled, or its reader disconnected.',
});
export const OperationStatus = words(
  'OperationStatus',
  OPERATION_STATUSES,
  'The outcome of a metered operation.',
  {
    succeeded: 'The operation succeeded.',
    failed: 'The operation failed. The part that was delivered before is charged.',
    cancelled: 'The caller disconnected or cancelled it. The part that was delivered before is charged.',
  },
);
export const UsageDimension = words('UsageDimension', USAGE_DIMENSIONS, 'A dimension of a usage summary.', {
  model: 'The requested model.',
  provider: 'The provider of the model that answered.',
  key: 'The API key.',
  endUser: 'The end user that calls name.',
  operation: 'The kind of operation.',
  status: 'The outcome of operations.',
  tag: 'A tag. An operation counts once for each of its tags.',
});
export const UsageExportFormat = words(
  'UsageExportFormat',
  ['csv', 'jsonl'] as const,
  'The form of an export.',
  {
    csv: 'Comma-separated values (RFC 4180), with the names of the columns in the first line.',
    jsonl: 'One JSON object per line.',
  },
);
export const UsageInterval = words('UsageInterval', USAGE_INTERVALS, 'An interval of a usage summary.', {
  hour: 'Hours.',
  day: 'Days of the time zone.',
  month: 'Calendar months of the time zone.',
});
export const JobStatus = words('JobStatus', JOB_STATUSES, 'The status of a job.', {
  pending: 'The job waits for a worker.',
  processing: 'A worker is processing the job.',
  completed: 'The job is done; `outputData` is set.',
  failed: 'The job failed; `errorMessage` has the reason. Nothing was charged.',
  cancelled: 'The job was cancelled before its end. Nothing was charged.',
});
export const ModelType = words(
  'ModelType',
  MODEL_TYPES,
  'The type of a model.',
  meaningsOf(KINDS, ({ descriptions }) => descriptions.model),
);
export const ModelTier = words(
  'ModelTier',
  TIERS,
  'Price class of a model: basic, standard, powerful; or fast, standard, premium for speech, transcription and image edits.',
  {
    basic: 'The lowest price class of chat, embeddings, image, video and music.',
    standard: 'The middle price class of all models.',
    powerful: 'The highest price class of chat, embeddings, image, video and music.',
    fast: 'The lowest price class of speech, transcription and image edits.',
    premium: 'The highest price class of speech, transcription and image edits.',
  },
);
export const PlanCode = words('PlanCode', PLAN_CODES, 'A plan.', {
  free: 'Free.',
  pro_monthly: 'Pro Monthly.',
  business_monthly: 'Business Monthly.',
  cli_pro: 'CLI Pro.',
  cli_team: 'CLI Team.',
});
/** The descriptions of the scopes. */
export const SCOPE_MEANINGS: Record<Scope, string> = {
  ...meaningsOf(LIMITED_KINDS, ({ descriptions }) => descriptions.scope),
  usage: 'Quota, usage records and all operations on jobs.',
  jobs: 'Reserved by the contract. Operations on jobs need the scope `usage`.',
  agents: 'Agents, their runs, knowledge and memories.',
  webhooks: 'Webhooks and their deliveries.',
  tokens: 'Creation of client tokens for browsers.',
};
export const KeyScope = words('KeyScope', SCOPES, 'A right of a key.', SCOPE_MEANINGS);
export const MemberRole = words('PenstockRole', MEMBER_ROLES, 'The role of a person in an organisation.', {
  owner: 'May do everything.',
  admin: 'May do everything except to change owners.',
  member: 'May use everything, but may not manage keys, webhooks, members or the plan.',
  viewer: 'May only read.',
});
export const UsageUpdateKind = words('UsageUpdateKind', USAGE_UPDATE_TYPES, 'A change of a balance.', {
  operation: 'A metered operation ended.',
  top_up: 'An operator added units.',
  adjustment: 'An operator set the used amount, or the end of an operation was corrected.',
  period: 'A period began, or its allowance changed: `opening` has the new balance.',
});
export const ImageStyle = words(
  'ImageStyle',
  ['vivid', 'natural'] as const,
  'The style of a generated image.',
  {
    vivid: 'Strong colours and contrasts.',
    natural: 'Similar to a photograph.',
  },
);
export const ImageResponseFormat = words(
  'ImageResponseFormat',
  ['url', 'b64_json'] as const,
  'Whether images come as signed URLs or as base64.',
  { url: 'A signed URL that is valid for seven days.', b64_json: 'The file itself as base64.' },
);
export const VideoMode = words(
  'VideoMode',
  ['text_to_video', 'image_to_video', 'video_to_video'] as const,
  'The source of a generated video.',
  {
    text_to_video: 'Only from the prompt.',
    image_to_video: 'From `sourceImage`.',
    video_to_video: 'From `sourceVideo`.',
  },
);
export const SpeechFormat = words(
  'SpeechFormat',
  ['mp3', 'wav', 'opus', 'aac'] as const,
  'The file format of generated speech.',
  { mp3: 'MP3.', wav: 'WAV, PCM of 16 bits.', opus: 'Opus in Ogg.', aac: 'AAC.' },
);
export const TranscriptionFormat = words(
  'TranscriptionFormat',
  ['json', 'text', 'srt', 'vtt', 'verbose_json'] as const,
  'The format of a transcript. verbose_json is the same as json.',
  {
    json: 'Text, segments and duration as data.',
    text: 'The text alone.',
    srt: 'SubRip subtitles.',
    vtt: 'WebVTT subtitles.',
    verbose_json: 'The same as json.',
  },
);
export const TimestampGranularity = words(
  'TimestampGranularity',
  ['segment', 'word'] as const,
  'The parts of a transcript that have times.',
  { segment: 'Times of segments.', word: 'Times of words too.' },
);
export const MusicMode = words(
  'MusicMode',
  ['text_to_music', 'audio_to_audio'] as const,
  'The source of generated music.',
  { text_to_music: 'Only from the prompt.', audio_to_audio: 'From `sourceAudio`.' },
);
export const MusicFormat = words(
  'MusicFormat',
  ['mp3', 'wav'] as const,
  'The file format of generated music.',
  {
    mp3: 'MP3.',
    wav: 'WAV, PCM of 16 bits.',
  },
);
export const WebhookDeliveryStatus = words(
  'WebhookDeliveryStatus',
  ['pending', 'succeeded', 'failed'] as const,
  'The status of a webhook delivery.',
  {
    pending: 'The delivery waits for its next attempt.',
    succeeded: 'The receiver acknowledged it with a 2xx status.',
    failed: 'The last attempt failed. retryWebhookDelivery or recoverWebhook sends it again.',
  },
);
export const WebhookFormat = words('WebhookFormat', WEBHOOK_FORMATS, 'The body of a delivery.', {
  json: 'The event.',
  slack: "`{text}` with a sentence about the event, the form of Slack's incoming webhooks.",
});
export const AgentTemplateCategory = words(
  'AgentTemplateCategory',
  TEMPLATE_CATEGORIES,
  'The purpose of a template.',
  {
    research: 'Finding out.',
    content: 'Writing.',
    coding: 'Programs.',
    analysis: 'Data.',
    support: 'Answering customers.',
    productivity: 'Planning and organising work.',
  },
);
export const AgentRunStatus = words(
  'AgentRunStatus',
  ['running', 'completed', 'failed', 'cancelled'] as const,
  'The status of a run.',
  {
    running: 'The run waits for a worker or is being executed.',
    completed: 'The run is done; `output` is set.',
    failed: 'The run failed; `errorMessage` has the reason. It is charged for its use until then.',
    cancelled: 'The run was cancelled. It is charged for its use until then.',
  },
);
export const AgentStepType = words(
  'AgentStepType',
  ['thinking', 'tool_call', 'tool_result', 'response', 'error'] as const,
  'The type of a step.',
  {
    thinking: "The model's reasoning, or information that the model got.",
    tool_call: 'The model called a tool.',
    tool_result: 'The result of a tool call.',
    response: 'The answer.',
    error: 'The error of a failed run.',
  },
);
export const KnowledgeStatus = words(
  'KnowledgeStatus',
  ['pending', 'processing', 'completed', 'failed'] as const,
  'The status of a knowledge file.',
  {
    pending: 'The file was uploaded and waits to be read.',
    processing: 'The file is being read.',
    completed: 'The file is ready; runs use it.',
    failed: 'The file could not be read; `errorMessage` has the reason.',
  },
);
export const EditDirection = words(
  'EditDirection',
  ['left', 'right', 'top', 'bottom', 'all'] as const,
  'The side on which outpainting extends an image.',
  {
    left: 'To the left.',
    right: 'To the right.',
    top: 'Upwards.',
    bottom: 'Downwards.',
    all: 'To all four sides.',
  },
);
export const ActorKind = words('ActorKind', ACTOR_KINDS, "The kind of a change's author.", {
  person: 'A person who was signed in, or who used a sign-in link.',
  key: 'An API key.',
  operator: 'An operator of the installation, at the command line or signed in.',
  system: 'Penstock itself.',
});
export const AuditAction = words('AuditAction', AUDIT_ACTIONS, 'The kind of a change in the audit log.', {
  organization_created: 'The organisation was created.',
  plan_changed: 'The plan was changed.',
  subscription_cancelled: 'The subscription was cancelled at the end of its period.',
  quota_topped_up: 'Units that do not expire were added to a bucket.',
  quota_set: 'The used amount of a bucket was set.',
  key_created: 'A key was created.',
  key_updated: 'A key was changed.',
  key_rotated: 'A key got a new secret.',
  key_revoked: 'A key was revoked.',
  member_added: 'A person was added.',
  member_role_changed: 'The role of a member was changed.',
  member_removed: 'A member was removed.',
  sign_in_link_created: 'A sign-in link was created for a person.',
  password_set: 'A person set a password by a sign-in link.',
  password_changed: 'A person changed their password.',
  webhook_created: 'A webhook was created.',
  webhook_updated: 'A webhook was changed.',
  webhook_deleted: 'A webhook was deleted.',
  webhook_secret_rotated: 'A webhook got a new secret.',
  webhook_recovered: 'The failed and missed events of a webhook were sent again.',
  webhook_disabled: 'A webhook was disabled after too many failed attempts.',
  budget_created: 'A budget was created.',
  budget_updated: 'A budget was changed.',
  budget_deleted: 'A budget was deleted.',
  agent_published: 'An agent became public.',
  agent_unpublished: 'A public agent became private, or was deleted.',
  documents_published: 'Trusted documents were published.',
  dead_letters_replayed: 'Events that could not be processed were sent again.',
  database_migrated: 'The database was migrated.',
  topics_created: 'Kafka topics were created.',
  usage_rebuilt: 'The sums of usage were recalculated from the ledger.',
  operator_added: 'A person became an operator of the installation.',
  operator_removed: 'A person is no longer an operator of the installation.',
});
export const AgentRunEventType = words(
  'AgentRunEventType',
  ['start', 'step', 'done', 'error'] as const,
  'The type of an event of a run.',
  {
    start: 'The run began.',
    step: 'The run has a new step: `step`.',
    done: 'The run is completed.',
    error: 'The run failed or was cancelled.',
  },
);
export const ChatFinishReason = words(
  'ChatFinishReason',
  ['stop', 'length', 'tool_calls', 'content_filter'] as const,
  "The reason of an answer's end.",
  {
    stop: 'It is complete.',
    length: 'It was cut at its maximum of tokens.',
    tool_calls: 'The model called tools, and waits for their results.',
    content_filter: 'A filter of its maker cut it.',
  },
);
export const ImageEditOperation = words('ImageEditOperation', EDIT_OPERATIONS, 'An operation on an image.', {
  inpainting: 'Paints the subject of `prompt` where the mask is white.',
  outpainting: 'Extends the image to a side: `direction`, `expandPixels`.',
  backgroundRemoval: 'Cuts out the subject.',
  backgroundReplace: 'Puts another background behind the subject: `newBackground`.',
  objectRemoval: 'Removes the objects that the mask marks.',
  superResolution: 'Enlarges the image: `scale`.',
  faceEnhancement: 'Makes faces clearer.',
  colorization: 'Colours a black-and-white image.',
  styleTransfer: 'Repaints the image in the style of `prompt`.',
});
export const QuotaPlanKind = words(
  'QuotaPlanKind',
  ['free', 'recurring'] as const,
  'Whether a plan is paid for.',
  { free: 'It costs nothing.', recurring: 'It is paid monthly.' },
);
export const UsageState = words(
  'UsageState',
  ['reserved', 'settled', 'released'] as const,
  'The state of a metered operation.',
  {
    reserved: 'It is running; its price is reserved.',
    settled: 'It ended and was charged.',
    released: 'It failed or was cancelled; nothing was charged.',
  },
);
export const RunAttachmentType = words(
  'RunAttachmentType',
  ['image', 'document'] as const,
  'The type of an attachment of a run.',
  { image: 'JPEG, PNG or WebP.', document: 'PDF, Markdown, TXT, CSV or DOCX.' },
);
export const RunMessageRole = words(
  'RunMessageRole',
  ['user', 'assistant'] as const,
  'The author of an earlier message.',
  { user: 'The user.', assistant: 'The agent.' },
);
export const EmbeddingEncoding = words(
  'EmbeddingEncoding',
  ['float', 'base64'] as const,
  'The encoding of vectors.',
  { float: 'A list of numbers.', base64: 'Little-endian float32 in base64.' },
);
export const MediaFormat = words(
  'MediaFormat',
  ['png', 'jpeg', 'webp', 'mp3', 'wav', 'opus', 'aac', 'flac', 'pcm', 'json', 'text', 'srt', 'vtt'] as const,
  'The format of a result: of pictures, of sound or of a transcript.',
  {
    png: 'PNG.',
    jpeg: 'JPEG.',
    webp: 'WebP.',
    mp3: 'MP3.',
    wav: 'WAV, PCM of 16 bits.',
    opus: 'Opus in Ogg.',
    aac: 'AAC.',
    flac: 'FLAC.',
    pcm: 'PCM of 16 bits without a header.',
    json: 'Text, segments and duration as data.',
    text: 'The text alone.',
    srt: 'SubRip subtitles.',
    vtt: 'WebVTT subtitles.',
  },
);
export const JobMode = words(
  'JobMode',
  ['text_to_video', 'image_to_video', 'video_to_video', 'text_to_music', 'audio_to_audio'] as const,
  'The source of a video or of a piece of music.',
  {
    text_to_video: 'A video from the prompt alone.',
    image_to_video: 'A video from a picture.',
    video_to_video: 'A video from another video.',
    text_to_music: 'Music from the prompt alone.',
    audio_to_audio: 'Music from a recording.',
  },
);
export const JobSort = words('JobSort', ['newest', 'oldest'] as const, 'The order of a list of jobs.', {
  newest: 'The newest first.',
  oldest: 'The oldest first.',
});
export const UploadPurpose = words('UploadPurpose', UPLOAD_PURPOSES, 'The purpose of an uploaded file.', {
  input: 'A value of a field that accepts a file: pictures, sound, videos and documents, as `file:<id>`.',
  knowledge: 'The knowledge of an agent, by `uploadKnowledgeFile`.',
});
export const ChatRole = words(
  'ChatRole',
  ['system', 'user', 'assistant', 'tool', 'function', 'developer'],
  "The role of a message's author.",
  {
    system: 'Instructions.',
    user: 'Who asks.',
    assistant: 'The model.',
    tool: 'The result of a tool that the model called.',
    function: 'The older form of `tool`.',
    developer: 'Means `system`.',
  },
);
export const ItemOrder = words('ItemOrder', ['asc', 'desc'], 'The order of items.', {
  asc: 'The oldest first.',
  desc: 'The latest first.',
});

const AGENT_AND_OPERATOR = ['agent_run', 'agent_model', 'agent_tool', 'adjustment', 'top_up'] as const;
export const UsageOperation = words(
  'UsageOperation',
  [...MODEL_TYPES, ...AGENT_AND_OPERATOR],
  'A kind of metered operation.',
  {
    ...meaningsOf(KINDS, ({ descriptions }) => descriptions.model),
    agent_run: 'A run of an agent.',
    agent_model: "A call of an agent's model.",
    agent_tool: "A call of an agent's tool.",
    adjustment: 'An operator set the used amount.',
    top_up: 'An operator added units.',
  },
);
