import type { AuditAction, AuditChange, AuditFields } from '../audit/index.js';
import type { Webhook } from './webhook.types.js';

type Audited = Pick<Webhook, 'name' | 'url' | 'events' | 'enabled' | 'format' | 'customHeaders'>;

/** The fields of a webhook that the audit log compares; {@link mask} hides the secret ones. */
export function auditedOf({ name, url, events, enabled, format, customHeaders }: Audited): AuditFields {
  return { name, url, events, enabled, format, customHeaders };
}

const HIDDEN = '***';

/** Some receivers accept messages from anyone who knows their path, so the path is a secret like a header. */
function hostOf(url: string): string {
  const { origin, pathname, search } = new URL(url);
  return pathname === '/' && search === '' ? origin : `${origin}/${HIDDEN}`;
}

function mask({ url, customHeaders, ...fields }: AuditFields): AuditFields {
  const names = Object.keys((customHeaders as Record<string, string> | undefined) ?? {});
  return {
    ...fields,
    ...(url === undefined ? {} : { url: hostOf(url as string) }),
    ...(customHeaders === undefined
      ? {}
      : { customHeaders: Object.fromEntries(names.map((name) => [name, HIDDEN])) }),
  };
}

/** A change of a webhook, for the audit log. */
export const webhookChange = (
  { id, orgId, name }: { id: string; orgId: string; name: string },
  action: AuditAction,
  fields: Pick<AuditChange, 'before' | 'after'>,
): AuditChange => ({ orgId, action, subject: { id, name }, ...fields, mask });
