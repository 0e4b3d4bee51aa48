import { Field, ID, InputType, ObjectType } from 'type-graphql';
import type { ActorKind as Kind, AuditAction as Action } from '../../src/audit/index.js';
import { connectionType } from '../connection.js';
import { ActorKind, AuditAction } from '../enums.js';
import { DateTime, Json } from '../scalars.js';

@ObjectType({ simpleResolvers: true, description: 'The author of a change.' })
export class AuditActor {
  @Field(() => ActorKind, { description: 'A person, a key, the operator or Penstock itself.' })
  kind!: Kind;

  @Field(() => ID, {
    nullable: true,
    description: 'Id of the person or the key; null for the command line and Penstock.',
  })
  id!: string | null;

  @Field(() => String, {
    nullable: true,
    description:
      "The person's e-mail address or the key's name, at that time; null for the command line and Penstock.",
  })
  name!: string | null;
}

@ObjectType({ simpleResolvers: true, description: 'The changed object.' })
export class AuditSubject {
  @Field(() => ID, {
    nullable: true,
    description: 'Id of the key, the person, the webhook, the budget, the agent or the organisation.',
  })
  id!: string | null;

  @Field(() => String, { nullable: true, description: 'Its name at that time.' })
  name!: string | null;
}

@ObjectType('AuditEntry', {
  simpleResolvers: true,
  description: "A change of the organisation's administration. Entries are never changed or deleted.",
})
export class AuditEntryType {
  @Field(() => ID, { description: 'Its id, `aud_…`.' })
  id!: string;

  @Field(() => DateTime, { description: 'When it was changed.' })
  at!: Date;

  @Field(() => AuditActor, { description: 'The author of the change.' })
  actor!: AuditActor;

  @Field(() => String, {
    nullable: true,
    description:
      "The client's IP address (for IPv6: its /64 network), or `cli` for the command line; null if Penstock itself changed it.",
  })
  address!: string | null;

  @Field(() => AuditAction, { description: 'What was done.' })
  action!: Action;

  @Field(() => AuditSubject, { description: 'The changed object.' })
  subject!: AuditSubject;

  @Field(() => Json, {
    nullable: true,
    description:
      'The changed fields before the change; null if something was created. Secrets are never shown.',
  })
  before!: Readonly<Record<string, unknown>> | null;

  @Field(() => Json, {
    nullable: true,
    description:
      'The changed fields after the change; null if something was deleted. Secrets are never shown.',
  })
  after!: Readonly<Record<string, unknown>> | null;
}

export const AuditEntryConnection = connectionType('AuditEntry', () => AuditEntryType);

@InputType({ description: 'Selects entries of the audit log. Absent fields do not restrict it.' })
export class AuditLogFilter {
  @Field(() => DateTime, { nullable: true, description: 'From this time on.' })
  since?: Date | null;

  @Field(() => DateTime, { nullable: true, description: 'Before this time.' })
  until?: Date | null;

  @Field(() => [String], {
    nullable: true,
    description: 'Ids of people and keys, `operator` or `system`; at most 100.',
  })
  actors?: string[] | null;

  @Field(() => [AuditAction], { nullable: true, description: 'What was done; at most 100.' })
  actions?: Action[] | null;

  @Field(() => [ID], { nullable: true, description: 'Ids of the changed objects; at most 100.' })
  subjects?: string[] | null;
}
