// The JSON Schema of a question as fields, as far as people can fill them in: one simple
// value, or an object of simple values.

import { ExactNumber, parse, stringify } from '../client/json.js'

// secret tells whether a schema marks something as a secret: what is typed there is kept nowhere.
export const secret = schema => /"format":"password"|"writeOnly":true/.test(stringify(schema))

const simple = new Set(['string', 'boolean', 'integer', 'number'])

// fieldsOf returns {object, fields}; null if a form cannot show the schema.
export function fieldsOf(schema) {
  if (!schema || typeof schema !== 'object' || Array.isArray(schema)) return null
  if (schema.type !== 'object') {
    const field = fieldOf('', schema, true)
    return field && { object: false, fields: [field] }
  }
  const names = Object.keys(schema.properties || {})
  if (!names.length || names.length > 50) return null
  const needed = Array.isArray(schema.required) ? schema.required : []
  const fields = names.map(name => fieldOf(name, schema.properties[name], needed.includes(name)))
  return fields.includes(null) ? null : { object: true, fields }
}

function fieldOf(name, s, needed) {
  if (!s || typeof s !== 'object') return null
  const choices = []
  if (Array.isArray(s.enum)) s.enum.forEach((value, i) => choices.push({ value, title: s.enumNames?.[i] ?? plain(value) }))
  if (Array.isArray(s.oneOf)) {
    for (const one of s.oneOf) {
      if (!one || !('const' in one)) return null
      choices.push({ value: one.const, title: one.title ?? plain(one.const) })
    }
  }
  if (!simple.has(s.type) && !choices.length) return null
  return {
    name, type: s.type, title: String(s.title ?? name), description: String(s.description ?? ''), choices, needed, standard: s.default,
    min: s.minimum, max: s.maximum, least: s.minLength, most: s.maxLength, secret: secret(s),
  }
}

const plain = value => typeof value === 'string' ? value : stringify(value)

// numberOf is a number as it was typed; null if it is not one of JSON. A field of the browser
// for numbers would make another one of it.
function numberOf(text) {
  try {
    const value = parse(text)
    return typeof value === 'number' || value instanceof ExactNumber ? value : null
  } catch {
    return null
  }
}

// begin is what the fields have before anybody has filled them in: strings, as typed.
export const begin = form => form.fields.map(f => {
  if (f.standard === undefined || f.standard === null) return f.type === 'boolean' ? 'false' : ''
  if (f.choices.length) return String(f.choices.findIndex(c => stringify(c.value) === stringify(f.standard)))
  return plain(f.standard)
})

// answerOf makes the answer of what was typed; it throws with words for a person.
export function answerOf(form, typed) {
  const values = form.fields.map((f, i) => valueOf(f, typed[i]))
  if (!form.object) return values[0]
  const answer = {}
  form.fields.forEach((f, i) => { if (values[i] !== undefined) answer[f.name] = values[i] })
  return answer
}

function valueOf(f, text) {
  const name = f.title || 'The answer'
  if (f.choices.length) {
    const choice = f.choices[Number(text)]
    if (text !== '' && choice) return choice.value
    if (f.needed) throw new Error(`${name}: choose one.`)
    return undefined
  }
  if (f.type === 'boolean') return text === 'true'
  if (text === '' && !f.needed) return undefined
  if (f.type === 'string') {
    const n = [...text].length
    if (f.needed && text === '' && !(f.least === 0)) throw new Error(`${name}: this is needed.`)
    if (n < f.least) throw new Error(`${name}: at least ${f.least} characters.`)
    if (n > f.most) throw new Error(`${name}: at most ${f.most} characters.`)
    return text
  }
  if (text === plain(f.standard)) return f.standard
  const value = numberOf(text.trim())
  if (value === null) throw new Error(`${name}: a number is needed.`)
  if (f.type === 'integer' && !/^-?\d+$/.test(value)) throw new Error(`${name}: a whole number is needed.`)
  if (value < f.min) throw new Error(`${name}: at least ${f.min}.`)
  if (value > f.max) throw new Error(`${name}: at most ${f.max}.`)
  return value
}
