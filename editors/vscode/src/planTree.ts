/** Positions of the parts of an execution plan in its JSON text. */

import { findNodeAtLocation, Node, parseTree } from 'jsonc-parser';
import type { PlanPlace } from './reports';

/** A range of characters. */
export interface Extent {
  readonly offset: number;
  readonly length: number;
}

/** Longer texts are not parsed. */
const LONGEST = 64 << 20;

/** Whether a JSON text looks like an execution plan: an object that has ranks and names its collective. */
export function looksLikePlan(text: string): boolean {
  return text.length <= LONGEST && /^\s*\{/.test(text) && /"gpus"\s*:/.test(text) && /"collective"\s*:/.test(text);
}

/** The tree of a plan, in which places are looked up. */
export function planTree(text: string): Node | undefined {
  return parseTree(text, [], { allowTrailingComma: false });
}

/** The range of a place: that of its operation, or else of its block, of its rank, or of the plan. */
export function extentOf(tree: Node | undefined, place: PlanPlace): Extent | undefined {
  if (tree === undefined || place.rank === null) {
    return tree && headOf(tree);
  }
  const rank = findNodeAtLocation(tree, ['gpus', place.rank]);
  if (rank === undefined || place.block === null) {
    return rank && headOf(rank);
  }
  const block = findNodeAtLocation(rank, ['threadblocks', place.block]);
  if (block === undefined || place.operation === null) {
    return headOf(block ?? rank);
  }
  const operation = flatten(findNodeAtLocation(block, ['ops']))[place.operation];
  return operation ?? headOf(block);
}

/** Operations in the order of the file, a pipeline before its body. */
function flatten(list: Node | undefined): Node[] {
  return (list?.children ?? []).flatMap((operation) => [
    operation,
    ...flatten(findNodeAtLocation(operation, ['ops'])),
  ]);
}

/** The first member of an object, so that a report does not underline a whole rank. */
function headOf(node: Node): Extent {
  return node.children?.[0] ?? node;
}
