import { useEffect, useRef, useState, type ReactNode } from 'react';
import { Button, FaultNotice } from '../ui/basics.js';
import { Fault } from '../data/fault.js';
import { readFile } from './read-file.js';

const SECOND_MS = 1000;

/** Records from the microphone. Browsers allow recording only over https or on the same computer. */
export function Recorder({ onRecorded }: { onRecorded(dataUrl: string, name: string): void }): ReactNode {
  const [seconds, setSeconds] = useState<number>();
  const [fault, setFault] = useState<Fault>();
  const recorder = useRef<MediaRecorder | undefined>(undefined);
  const isRecording = seconds !== undefined;
  useEffect(() => () => recorder.current?.stop(), []);
  useEffect(() => {
    if (!isRecording) return undefined;
    const timer = setInterval(() => setSeconds((before) => (before ?? 0) + 1), SECOND_MS);
    return () => clearInterval(timer);
  }, [isRecording]);
  const start = async (): Promise<void> => {
    setFault(undefined);
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      const recording = new MediaRecorder(stream);
      const parts: Blob[] = [];
      recording.addEventListener('dataavailable', ({ data }) => parts.push(data));
      recording.addEventListener('stop', () => {
        for (const track of stream.getTracks()) track.stop();
        setSeconds(undefined);
        // A `data:` URL needs the type without parameters such as the codec.
        const type = recording.mimeType.split(';')[0] ?? '';
        void readFile(new Blob(parts, { type })).then((url) => onRecorded(url, 'A recording'));
      });
      recorder.current = recording;
      recording.start();
      setSeconds(0);
    } catch {
      setFault(new Fault('The microphone cannot be used here', { status: 0 }));
    }
  };
  return (
    <>
      {isRecording ? (
        <Button onClick={() => recorder.current?.stop()}>Stop recording ({seconds} s)</Button>
      ) : (
        <Button onClick={() => void start()}>Record</Button>
      )}
      <FaultNotice fault={fault} />
    </>
  );
}
