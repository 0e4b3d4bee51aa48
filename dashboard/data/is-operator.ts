import { graphql } from './graphql.js';
import { useQuery } from './hooks.js';

const IS_OPERATOR = graphql(`
  query IsOperator {
    caller {
      person {
        isOperator
      }
    }
  }
`);

/** Whether the signed-in person is an operator of the installation; false until it is known. */
export function useIsOperator(): boolean {
  const { data } = useQuery(IS_OPERATOR, {});
  return data?.caller.person?.isOperator === true;
}
