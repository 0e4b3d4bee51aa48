import { useUpload } from '@penstock/client/react';

/** Uploads a file. Its reference can then be used in every field that takes a file. */
export function Upload() {
  const { upload, progress, file, error } = useUpload();
  return (
    <label>
      <input type="file" onChange={({ target }) => target.files?.[0] && void upload(target.files[0])} />
      <progress value={progress} />
      {error?.message ?? file?.reference}
    </label>
  );
}
