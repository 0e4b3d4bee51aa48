import { useRef, useState, type PointerEvent, type ReactNode } from 'react';
import { Button } from '../ui/basics.js';

interface MaskProps {
  label: string;
  /** The image as a `data:` URL. */
  image: string;
  /** Called with a PNG of the image's size, white where the image will be edited. Called with an empty text if nothing is drawn. */
  onDrawn(mask: string): void;
}

const SHOWN = 'rgb(214 40 110)';
/** The widths of the brushes, as shares of the image's longer side. */
const BRUSHES = [0.03, 0.08, 0.2];

/** Converts the drawing to a mask: white where something is drawn, black elsewhere. */
function maskOf(canvas: HTMLCanvasElement): string {
  const { width, height } = canvas;
  const mask = document.createElement('canvas');
  Object.assign(mask, { width, height });
  const [from, to] = [canvas.getContext('2d'), mask.getContext('2d')];
  if (from === null || to === null) return '';
  const picture = from.getImageData(0, 0, width, height);
  let isEmpty = true;
  for (let at = 0; at < picture.data.length; at += 4) {
    const level = (picture.data[at + 3] ?? 0) > 127 ? 255 : 0;
    if (level === 255) isEmpty = false;
    picture.data.fill(level, at, at + 3);
    picture.data[at + 3] = 255;
  }
  to.putImageData(picture, 0, 0);
  return isEmpty ? '' : mask.toDataURL('image/png');
}

interface Size {
  width: number;
  height: number;
}

/** Handles drawing on a canvas that covers an image of this size. */
function usePainting(size: Size | undefined, onDrawn: (mask: string) => void) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [brush, setBrush] = useState(BRUSHES[1] ?? 0.08);
  const last = useRef<{ x: number; y: number } | undefined>(undefined);
  const context = (): CanvasRenderingContext2D | null => canvas.current?.getContext('2d') ?? null;
  const told = (): void => {
    if (canvas.current) onDrawn(maskOf(canvas.current));
  };
  const pointOf = ({ nativeEvent: { offsetX, offsetY } }: PointerEvent): { x: number; y: number } => {
    const { width = 1, clientWidth = 1 } = canvas.current ?? {};
    const scale = width / clientWidth;
    return { x: offsetX * scale, y: offsetY * scale };
  };
  const paint = (event: PointerEvent): void => {
    const drawing = context();
    if (drawing === null || last.current === undefined || size === undefined) return;
    const point = pointOf(event);
    const lineWidth = Math.max(size.width, size.height) * brush;
    Object.assign(drawing, { strokeStyle: SHOWN, lineCap: 'round', lineJoin: 'round', lineWidth });
    drawing.beginPath();
    drawing.moveTo(last.current.x, last.current.y);
    drawing.lineTo(point.x, point.y);
    drawing.stroke();
    last.current = point;
  };
  const fill = (share: number): void => {
    const drawing = context();
    if (drawing === null || size === undefined) return;
    const { width, height } = size;
    drawing.clearRect(0, 0, width, height);
    drawing.fillStyle = SHOWN;
    const margin = (1 - share) / 2;
    if (share > 0) drawing.fillRect(width * margin, height * margin, width * share, height * share);
    told();
  };
  const pointer = {
    onPointerDown(event: PointerEvent<HTMLCanvasElement>): void {
      event.currentTarget.setPointerCapture(event.pointerId);
      last.current = pointOf(event);
      paint(event);
    },
    onPointerMove: paint,
    onPointerUp(): void {
      last.current = undefined;
      told();
    },
  };
  return { canvas, brush, setBrush, fill, pointer };
}

/** The area to edit, drawn over the image with the pointer. With the keyboard a rectangle in the middle, or the whole image, can be chosen. */
export function MaskEditor({ label, image, onDrawn }: MaskProps): ReactNode {
  const [size, setSize] = useState<Size>();
  const { canvas, brush, setBrush, fill, pointer } = usePainting(size, onDrawn);
  return (
    <div className="field">
      <span className="field-label">{label}</span>
      <div className="mask">
        <img
          src={image}
          alt="The picture to edit"
          onLoad={({ currentTarget: { naturalWidth: width, naturalHeight: height } }) =>
            setSize({ width, height })
          }
        />
        {size && (
          <canvas
            ref={canvas}
            {...size}
            {...pointer}
            role="img"
            aria-label="The area to edit, painted over the picture"
          />
        )}
      </div>
      <div className="segments" role="group" aria-label="Brush">
        {BRUSHES.map((one, at) => (
          <button key={one} type="button" aria-pressed={one === brush} onClick={() => setBrush(one)}>
            {['Fine', 'Middle', 'Wide'][at]}
          </button>
        ))}
      </div>
      <div className="actions">
        {FILLS.map(({ name, share }) => (
          <Button key={name} kind="quiet" onClick={() => fill(share)}>
            {name}
          </Button>
        ))}
      </div>
    </div>
  );
}

const FILLS = [
  { name: 'Middle of it', share: 0.5 },
  { name: 'All of it', share: 1 },
  { name: 'Clear', share: 0 },
];
