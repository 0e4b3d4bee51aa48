/** 16 bit PCM in RIFF, with a comment (`INFO`/`ICMT`) where one is given. */
export function encodeWav(
  channels: readonly Float32Array[],
  sampleRate: number,
  comment: string | null,
): Buffer {
  const frames = channels[0]?.length ?? 0;
  const dataBytes = frames * channels.length * 2;
  const info = comment === null ? Buffer.alloc(0) : infoChunk(comment);
  const out = Buffer.alloc(44 + dataBytes + info.length);
  out.write('RIFF', 0, 'latin1');
  out.writeUInt32LE(out.length - 8, 4);
  out.write('WAVEfmt ', 8, 'latin1');
  out.writeUInt32LE(16, 16);
  out.writeUInt16LE(1, 20);
  out.writeUInt16LE(channels.length, 22);
  out.writeUInt32LE(sampleRate, 24);
  out.writeUInt32LE(sampleRate * channels.length * 2, 28);
  out.writeUInt16LE(channels.length * 2, 32);
  out.writeUInt16LE(16, 34);
  out.write('data', 36, 'latin1');
  out.writeUInt32LE(dataBytes, 40);
  let at = 44;
  for (let frame = 0; frame < frames; frame++)
    for (const channel of channels) at = out.writeInt16LE(toInt16(channel[frame] ?? 0), at);
  info.copy(out, 44 + dataBytes);
  return out;
}

export function toInt16(sample: number): number {
  return Math.round(Math.max(-1, Math.min(1, sample)) * 32_767);
}

/** `LIST INFO ICMT`; chunks have an even length. */
function infoChunk(comment: string): Buffer {
  const text = Buffer.from(`${comment}\0`, 'latin1');
  const padded = text.length + (text.length % 2);
  const out = Buffer.alloc(20 + padded);
  out.write('LIST', 0, 'latin1');
  out.writeUInt32LE(12 + padded, 4);
  out.write('INFOICMT', 8, 'latin1');
  out.writeUInt32LE(text.length, 16);
  text.copy(out, 20);
  return out;
}
