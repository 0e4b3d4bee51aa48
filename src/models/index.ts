export { availableModel, checkModels, createModelCatalogue } from './catalogue.js';
export type { Model, ModelCatalogue } from './models.types.js';
