import type { Egress } from '../egress/index.js';
import type { Imaging } from '../imaging/index.js';
import { SANDBOX_ID } from '../providers/index.js';
import type { Provider, RulesOfTools } from '../providers/index.js';
import type { Tokenizer } from '../text/tokenizer.js';
import { createSandboxChat } from './chat/chat-model.js';
import { createSandboxEyes } from './chat/vision.js';
import { createSandboxMusic } from './compose/music-model.js';
import { afterDelay } from './directive/follow-directive.js';
import { createSandboxImage } from './draw/image-model.js';
import { createSandboxEditor } from './edit/edit-model.js';
import { createSandboxEmbedding } from './embedding-model.js';
import { createStudio } from './film/studio.js';
import { createSandboxVideo } from './film/video-model.js';
import { createSandboxTranscription } from './listen/transcription-model.js';
import { createPictures } from './pictures/pictures.js';
import { createSandboxRerank } from './rerank-model.js';
import { createSound } from './sound/sound.js';
import { createSandboxSpeech } from './voice/speech-model.js';

export interface SandboxOptions {
  tokenizer: Tokenizer;
  imaging: Imaging;
  /** How its chat uses agents' tools, by their names. Default: it uses none by itself. */
  toolRules?: RulesOfTools;
  /** Reads pictures at callers' addresses; without it the sandbox does not look at those. */
  egress?: Egress;
  /** Whether the optional codec package may be used (NATIVE_CODECS). Default: yes. */
  nativeCodecs?: boolean;
}

/**
 * The provider that needs no network, no key and no model: it answers by rules, draws, edits, films, plays, speaks and listens, and says
 * that it does. Its processes start with the first task.
 */
export function createSandbox({
  tokenizer,
  imaging,
  toolRules = new Map(),
  egress,
  nativeCodecs = true,
}: SandboxOptions): Provider {
  const pictures = createPictures();
  const sound = createSound();
  const studio = createStudio({ portable: !nativeCodecs });
  return {
    id: SANDBOX_ID,
    retry: { retries: 0, backoffMs: 0 },
    takesStandIns: true,
    chat: createSandboxChat({ tokenizer, eyes: createSandboxEyes({ pictures, egress }), rules: toolRules }),
    embedding: (modelId) => createSandboxEmbedding(modelId, tokenizer),
    rerank: createSandboxRerank,
    image: createSandboxImage(imaging),
    image_edit: createSandboxEditor(pictures, imaging),
    video: createSandboxVideo({ imaging, studio }),
    tts: createSandboxSpeech(sound),
    stt: createSandboxTranscription(sound),
    music: createSandboxMusic(sound),
    afterDelay,
    close() {
      for (const workers of [pictures, sound, studio]) workers.close();
      return Promise.resolve();
    },
  };
}
