import type { Product } from '../ledger/connector.ts'
import type { Cluster } from './cluster.ts'
import { both, runTogether, type Scenario } from './scenarios.ts'

export type DefineScenario = (title: string, run: (cluster: Cluster) => Promise<void>) => void

/** Scenarios of one file on each kind of store, all at the same time, each on an empty database of its own. */
export function onStores(define: (scenario: DefineScenario, product: Product) => void, products: readonly Product[] = both): void {
  const scenarios: Scenario[] = []
  for (const product of products) define((title, run) => { scenarios.push({ title, on: [product], run }) }, product)
  runTogether(scenarios)
}
