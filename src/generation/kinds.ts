import { CHAT } from './chat/kind.js';
import { EMBEDDING } from './embedding/kind.js';
import { IMAGE } from './image/kind.js';
import { IMAGE_EDIT } from './image_edit/kind.js';
import { MUSIC } from './music/kind.js';
import { RERANK } from './rerank/kind.js';
import { STT } from './stt/kind.js';
import { TTS } from './tts/kind.js';
import { VIDEO } from './video/kind.js';

/**
 * Every kind of generation, in the order in which enums and lists show them. Descriptors are data and import nothing, so that the words of
 * `src/contract` can be derived from them (`scripts/check-imports.mjs`).
 */
export const KINDS = [CHAT, EMBEDDING, RERANK, IMAGE, IMAGE_EDIT, VIDEO, MUSIC, TTS, STT] as const;
