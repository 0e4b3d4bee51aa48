import { createHash } from 'node:crypto';

export interface FormFile {
  name: string;
  filename: string;
  contentType: string;
  bytes: Uint8Array;
}

/** A form as bytes. Names and file names are our own words: nothing of a caller stands in a part's head. */
export function multipartOf(
  fields: readonly (readonly [string, string])[],
  files: readonly FormFile[],
): { bytes: Buffer; contentType: string } {
  // Derived from the content, so that the same form is always the same bytes.
  const content = createHash('sha256').update(JSON.stringify(fields));
  for (const { bytes } of files) content.update(bytes);
  const boundary = `penstock-${content.digest('hex').slice(0, 32)}`;
  const texts = fields.map(
    ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const parts = files.flatMap(({ name, filename, contentType, bytes }) => [
    Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"; filename="${filename}"\r\n` +
        `Content-Type: ${contentType}\r\n\r\n`,
    ),
    bytes,
    Buffer.from('\r\n'),
  ]);
  return {
    bytes: Buffer.concat([Buffer.from(texts.join('')), ...parts, Buffer.from(`--${boundary}--\r\n`)]),
    contentType: `multipart/form-data; boundary=${boundary}`,
  };
}
