import { Field, ObjectType, Query, Resolver } from 'type-graphql';

@ObjectType('PenstockVersion', { simpleResolvers: true, description: 'The version of the API.' })
export class ApiVersion {
  @Field(() => String, { description: 'Version of the contract, as in the path of the REST API.' })
  api!: string;
}

@Resolver()
export class VersionResolver {
  @Query(() => ApiVersion, { description: 'The version of the API.' })
  penstockVersion(): ApiVersion {
    return { api: 'v1' };
  }
}
