import { createRoot } from 'react-dom/client';
import { App } from './app.js';

const place = document.getElementById('dashboard');
if (place !== null) createRoot(place).render(<App />);
