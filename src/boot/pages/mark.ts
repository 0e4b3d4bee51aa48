/** The mark: a pipe that leads water down to a turbine. */
export const MARK_SVG = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
  <rect width="32" height="32" rx="7" fill="#10243d"/>
  <path d="M6 9h7c3 0 4 2 5 5l1 4" fill="none" stroke="#5fd396" stroke-width="4" stroke-linecap="round"/>
  <circle cx="21" cy="22" r="4.5" fill="none" stroke="#fff" stroke-width="2.5"/>
</svg>`;
