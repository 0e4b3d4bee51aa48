import { renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { makeFolder } from '../disk/make-folder.js';

const escape = (path: string) => path.replace(/&/g, '&amp;').replace(/</g, '&lt;');

/**
 * Writes the font configuration of the drawing process: the DejaVu fonts of the package, whatever the machine has, so that text is never
 * boxes and the same input gives the same bytes everywhere.
 *
 * @returns the file for `FONTCONFIG_FILE`
 */
export function writeFontConfig(folder: string): string {
  const fonts = join(dirname(createRequire(import.meta.url).resolve('dejavu-fonts-ttf/package.json')), 'ttf');
  makeFolder(folder);
  const file = join(folder, 'fonts.conf');
  const temporary = `${file}.${process.pid}`;
  writeFileSync(
    temporary,
    `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${escape(fonts)}</dir>
  <cachedir>${escape(folder)}</cachedir>
  <alias><family>sans-serif</family><prefer><family>DejaVu Sans</family></prefer></alias>
</fontconfig>
`,
  );
  renameSync(temporary, file);
  return file;
}
