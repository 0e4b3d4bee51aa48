/** Words of an order that more than one tool goes by. */
export const PICTURE =
  /\b(picture|photo|photograph|image|screenshot|illustration|illustrat\w+|drawing|logo|poster|banner)\b/i;
export const CHART = /\b(chart|plot|graph|diagram|visuali[sz]e|histogram|timeline|trend)\b/i;
