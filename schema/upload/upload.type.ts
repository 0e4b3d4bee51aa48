import { Field, Float, ID, InputType, Int, ObjectType } from 'type-graphql';
import type { UploadPurpose as Purpose } from '../../src/files/index.js';
import { UploadPurpose } from '../enums.js';

@InputType({ description: 'A file to upload.' })
export class CreateUploadInput {
  @Field(() => String, {
    description:
      'Its media type: a picture (PNG, JPEG, WebP, GIF), sound (MP3, WAV, OGG, AAC, FLAC, M4A, WebM), a video (MP4, MOV, WebM, Matroska), PDF, DOCX, Markdown, CSV or plain text. The bytes must have this type.',
  })
  contentType!: string;

  @Field(() => Int, { description: 'Its size in bytes, which counts as storage from now on.' })
  sizeBytes!: number;

  @Field(() => UploadPurpose, { description: 'Its purpose.' })
  purpose!: Purpose;
}

@ObjectType({ simpleResolvers: true, description: 'A header to send.' })
export class UploadHeader {
  @Field(() => String, { description: 'Its name.' })
  name!: string;

  @Field(() => String, { description: 'Its value.' })
  value!: string;
}

@ObjectType({ simpleResolvers: true, description: 'A file and its upload.' })
export class UploadedFile {
  @Field(() => ID, {
    description:
      'Its id. After the upload is complete, `file:<id>` can be used as the value of every field for a file.',
  })
  id!: string;

  @Field(() => String, { description: 'Its media type.' })
  contentType!: string;

  @Field(() => Float, { description: 'Its size in bytes.' })
  sizeBytes!: number;

  @Field(() => UploadPurpose, { description: 'Its purpose.' })
  purpose!: Purpose;
}

@ObjectType({ simpleResolvers: true, description: 'The answer to createUpload.' })
export class CreateUploadResult {
  @Field(() => String, {
    description:
      'PUT the bytes to this address within 24 hours, at once or in parts with `Content-Range: bytes a-b/total`. The answer to each part except the last is 308 with `Range: bytes=0-b`; the answer to the last is 200. `Content-Range: bytes */total` requests the current range. The address needs no key.',
  })
  url!: string;

  @Field(() => [UploadHeader], { description: 'Headers to send with the bytes.' })
  headers!: UploadHeader[];

  @Field(() => UploadedFile, { description: 'The file.' })
  file!: UploadedFile;
}
