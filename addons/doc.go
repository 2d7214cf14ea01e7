// Package addons is the pure core: it knows definitions, resolves what an Installer asks for, and decides what to do for each add-on. It
// has no client, context, clock or files: the same input always gives the same answer.
package addons
