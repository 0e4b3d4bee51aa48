import type { ReactNode } from 'react';
import type { Membership, Session } from './data/auth.js';
import { href } from './route.js';

interface TopBarProps {
  session: Session;
  organization: Membership;
  onChoose(id: string): void;
  onSignOut(): void;
}

/** The bar at the top of all pages, with the chosen organisation and the signed-in person. */
export function TopBar({ session, organization, onChoose, onSignOut }: TopBarProps): ReactNode {
  const { organizations, user } = session;
  return (
    <header className="bar">
      <a className="brand" href={href()}>
        <img className="brand-mark" src="assets/mark.svg" alt="" />
        Penstock
      </a>
      <nav aria-label="Product">
        <a aria-current="page" href={href()}>
          Dashboard
        </a>
        <a href="graphql">GraphQL</a>
        <a href="docs">REST API</a>
      </nav>
      <div className="bar-person">
        {organizations.length > 1 ? (
          <select
            aria-label="Organisation"
            value={organization.id}
            onChange={({ target }) => onChoose(target.value)}
          >
            {organizations.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        ) : (
          <span className="bar-organization">{organization.name}</span>
        )}
        <span className="bar-email" title={`${user.email}, ${organization.role}`}>
          {user.email}
        </span>
        <button type="button" onClick={onSignOut}>
          Sign out
        </button>
      </div>
    </header>
  );
}
