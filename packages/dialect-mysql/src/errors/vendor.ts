/** Whose numbers an error's number belongs to. */
export type Vendor = 'mysql' | 'mariadb'

// The driver's errors do not say which server they came from, and are passed on as they are.
const vendors = new WeakMap<Error, Vendor>()

export function rememberVendor<E extends Error>(error: E, vendor: Vendor | undefined): E {
  if (vendor !== undefined) vendors.set(error, vendor)
  return error
}

export function vendorOf(error: Error): Vendor | undefined { return vendors.get(error) }
