export interface XmlElement { readonly name: string; readonly attributes: Readonly<Record<string, string>> }

/** The elements of an XML document in their order. Throws when it is not well-formed; knows what JUnit files have, and no more. */
export function wellFormed(xml: string): readonly XmlElement[] {
  const elements: XmlElement[] = []
  const open: string[] = []
  let rest = xml.replace(/^<\?xml version="1\.0" encoding="UTF-8"\?>\n/, '')
  if (rest === xml) throw new Error('no XML declaration')
  // eslint-disable-next-line no-control-regex
  if (/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/.test(xml)) throw new Error('a letter that XML does not know')
  while (rest !== '') {
    const tag = /^<(\/?)([a-z]+)((?: [a-z]+="[^"<]*")*)(\/?)>/.exec(rest)
    if (tag === null) {
      const text = /^[^<]+/.exec(rest)?.[0]
      if (text === undefined) throw new Error(`not well-formed at ${rest.slice(0, 60)}`)
      checkText(text)
      if (open.length === 0 && text.trim() !== '') throw new Error('text outside the root')
      rest = rest.slice(text.length)
      continue
    }
    const [whole, closing, name = '', attributes = '', empty] = tag
    rest = rest.slice(whole.length)
    checkText(attributes)
    if (closing === '/') {
      if (open.pop() !== name) throw new Error(`</${name}> closes what is not open`)
      continue
    }
    if (open.length === 0 && elements.length > 0) throw new Error('two roots')
    elements.push({ name, attributes: Object.fromEntries([...attributes.matchAll(/ ([a-z]+)="([^"]*)"/g)].map(([, key = '', value = '']) => [key, value])) })
    if (empty !== '/') open.push(name)
  }
  if (open.length > 0) throw new Error(`<${open.join('><')}> is not closed`)
  return elements
}

function checkText(text: string): void {
  if (/&(?!(?:amp|lt|gt|quot|apos|#\d+);)/.test(text)) throw new Error(`an ampersand that is no entity: ${text.slice(0, 60)}`)
  if (text.includes(']]>')) throw new Error('"]]>" in a text')
}
