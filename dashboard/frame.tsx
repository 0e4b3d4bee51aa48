import { Link, Outlet, useLocation } from '@tanstack/react-router';
import { useEffect, useState, type ReactNode } from 'react';
import { useIsOperator } from './data/is-operator.js';
import { DEVELOPERS, NAVIGATION } from './navigation.js';

/** The navigation, and beside it the view that belongs to the address. */
export function Frame(): ReactNode {
  const { pathname } = useLocation();
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [pathname]);
  const isOperator = useIsOperator();
  const entries = NAVIGATION.filter(({ isOperators }) => isOperators === undefined || isOperator);
  const current = NAVIGATION.find(({ to }) => to !== '/' && pathname.startsWith(to)) ?? NAVIGATION[0];
  return (
    <div className="columns">
      <nav className="side" aria-label="Dashboard">
        <button
          type="button"
          className="side-toggle"
          aria-expanded={isOpen}
          aria-controls="side-links"
          onClick={() => setOpen(!isOpen)}
        >
          <span aria-hidden="true">☰</span> {current?.label}
        </button>
        <div id="side-links" className={isOpen ? 'side-links is-open' : 'side-links'}>
          <ul>
            {entries.map(({ to, label, icon }) => (
              <li key={to}>
                <Link
                  to={to}
                  activeOptions={{ exact: to === '/', includeSearch: false }}
                  onClick={() => setOpen(false)}
                >
                  <svg viewBox="0 0 16 16" aria-hidden="true">
                    <path d={icon} />
                  </svg>
                  {label}
                </Link>
              </li>
            ))}
          </ul>
          <p id="side-developers" className="side-group">
            Developers
          </p>
          <ul aria-labelledby="side-developers">
            {DEVELOPERS.map(({ href, label }) => (
              <li key={href}>
                <a href={href}>{label}</a>
              </li>
            ))}
          </ul>
        </div>
      </nav>
      <main id="main" tabIndex={-1}>
        <Outlet />
      </main>
    </div>
  );
}
