/** The orders of the workspace list, by their name in the API. */
export const sortLabels = {
  name: 'Name',
  owner: 'Owner',
  template: 'Template',
  status: 'Status',
  '-last_used': 'Last used first',
  autostop: 'Next autostop',
};

/** Returns the order after a click on a column: ascending, descending, then the default order. Of times of the past,
 * the latest come first. */
export function nextSort(sort: string | undefined, column: string): string | undefined {
  const orders = column === 'last_used' ? [`-${column}`, column] : [column, `-${column}`];
  return orders[orders.indexOf(sort ?? '') + 1];
}
