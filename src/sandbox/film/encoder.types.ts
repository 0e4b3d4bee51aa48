/** Takes frames one by one; only the encoded video is held. */
export interface FrameEncoder {
  /** An I420 frame (luma, then both chroma planes at half size); its memory may be used again afterwards. */
  add(frame: Uint8Array): Promise<void>;
  /** The MP4. */
  finish(): Promise<Uint8Array>;
}

export interface EncoderOptions {
  width: number;
  height: number;
  fps: number;
}
