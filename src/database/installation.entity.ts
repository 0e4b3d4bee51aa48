import { defineEntity, p } from '@mikro-orm/postgresql';

/** The one row that names the installation (decisions 9). Belongs to no organisation: only the system role has a right to it. */
export const InstallationEntity = defineEntity({
  name: 'Installation',
  tableName: 'installation',
  properties: {
    onlyOne: p.boolean().primary(),
    id: p.text(),
    /** What URLs are signed with where the operator set none; read only where it is asked for. */
    signingSecret: p.text().nullable().lazy(),
    kafka: p.boolean(),
    webhookPlans: p.array().nullable(),
    publicUrl: p.text().nullable(),
    ledgerDroppedBefore: p.text().nullable(),
    createdAt: p.datetime(),
  },
});
