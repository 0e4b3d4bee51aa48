import { registerEnumType } from 'type-graphql';
import { TEMPLATE_CATEGORIES } from '../src/agents/agents.types.js';
import { BUCKETS, JOB_STATUSES, MODEL_TYPES, PLAN_CODES, SCOPES, TIERS, TOOLS } from '../src/vocabulary.js';

/** The contract's words as a GraphQL enum whose names and values are the words themselves (decisions.md 8). */
function words<Word extends string>(name: string, values: readonly Word[], description: string) {
  const entries = Object.fromEntries(values.map((value) => [value, value])) as Record<Word, Word>;
  registerEnumType(entries, { name, description });
  return entries;
}

export const BucketName = words('BucketName', BUCKETS, 'A quota bucket.');
export const JobTool = words('JobTool', TOOLS, 'What a job makes.');
export const JobStatus = words('JobStatus', JOB_STATUSES, 'Where a job stands.');
export const ModelType = words('ModelType', MODEL_TYPES, 'What a model does.');
export const ModelTier = words(
  'ModelTier',
  TIERS,
  'Price class of a model: basic, standard, powerful; or fast, standard, premium for speech, transcription and image edits.',
);
export const PlanCode = words('PlanCode', PLAN_CODES, 'A plan.');
export const KeyScope = words('KeyScope', SCOPES, 'What a key may do.');
export const ImageStyle = words('ImageStyle', ['vivid', 'natural'] as const, 'Look of a generated image.');
export const ImageResponseFormat = words(
  'ImageResponseFormat',
  ['url', 'b64_json'] as const,
  'Whether images come as signed URLs or as base64.',
);
export const VideoMode = words(
  'VideoMode',
  ['text_to_video', 'image_to_video', 'video_to_video'] as const,
  'What a video is made from.',
);
export const SpeechFormat = words(
  'SpeechFormat',
  ['mp3', 'wav', 'opus', 'aac'] as const,
  'Container of generated speech.',
);
export const TranscriptionFormat = words(
  'TranscriptionFormat',
  ['json', 'text', 'srt', 'vtt', 'verbose_json'] as const,
  'Form of a transcript; verbose_json is another name of json.',
);
export const TimestampGranularity = words(
  'TimestampGranularity',
  ['segment', 'word'] as const,
  'Of what a transcript tells the times.',
);
export const MusicMode = words(
  'MusicMode',
  ['text_to_music', 'audio_to_audio'] as const,
  'What music is made from.',
);
export const MusicFormat = words('MusicFormat', ['mp3', 'wav'] as const, 'Container of generated music.');
export const WebhookDeliveryStatus = words(
  'WebhookDeliveryStatus',
  ['pending', 'succeeded', 'failed'] as const,
  'Where a webhook delivery stands.',
);
export const AgentTemplateCategory = words(
  'AgentTemplateCategory',
  TEMPLATE_CATEGORIES,
  'What a template is for.',
);
export const AgentRunStatus = words(
  'AgentRunStatus',
  ['running', 'completed', 'failed', 'cancelled'] as const,
  'Where a run stands.',
);
export const AgentStepType = words(
  'AgentStepType',
  ['thinking', 'tool_call', 'tool_result', 'response', 'error'] as const,
  'What a step of a run is.',
);
export const KnowledgeStatus = words(
  'KnowledgeStatus',
  ['pending', 'processing', 'completed', 'failed'] as const,
  'Whether a knowledge file can be searched yet.',
);
export const EditDirection = words(
  'EditDirection',
  ['left', 'right', 'top', 'bottom', 'all'] as const,
  'Where outpainting extends an image.',
);
