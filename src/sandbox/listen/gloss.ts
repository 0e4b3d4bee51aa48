/**
 * The commonest words of the languages that are told apart (language.ts), with the English word that mostly stands for each. It is no
 * translator: each word is looked up by itself.
 */
const WORDS: Readonly<Record<string, string>> = {
  de: `der=the die=the das=the den=the dem=the des=of-the und=and oder=or aber=but nicht=not kein=no keine=no ja=yes nein=no ich=I du=you er=he
    sie=they es=it wir=we ihr=you mich=me dich=you uns=us mein=my meine=my dein=your sein=his ihre=their unser=our ein=a eine=a einen=a einem=a
    ist=is sind=are bin=am war=was waren=were wird=becomes werden=become hat=has haben=have habe=have hatte=had kann=can können=can muss=must
    müssen=must soll=shall will=want wollen=want geht=goes gehen=go kommt=comes kommen=come macht=makes machen=make sagt=says sagen=say
    sehen=see weiß=know wissen=know gibt=gives geben=give zu=to zum=to-the zur=to-the in=in im=in-the an=at am=at-the auf=on aus=out-of von=of
    vom=from-the mit=with ohne=without für=for über=over unter=under nach=after vor=before bei=at durch=through um=around bis=until wie=how
    was=what wer=who wo=where wann=when warum=why weil=because wenn=if dass=that auch=also noch=still schon=already nur=only sehr=very hier=here
    dort=there jetzt=now heute=today morgen=tomorrow gestern=yesterday immer=always nie=never gut=good guten=good gute=good schlecht=bad
    groß=big große=big klein=small kleine=small neu=new neue=new alt=old alte=old viel=much viele=many mehr=more alle=all alles=everything
    etwas=something nichts=nothing danke=thanks bitte=please hallo=hello tag=day nacht=night abend=evening jahr=year zeit=time woche=week
    mann=man frau=woman kind=child kinder=children haus=house stadt=city land=country welt=world wasser=water brot=bread hund=dog katze=cat
    freund=friend arbeit=work schule=school buch=book weg=way auto=car zug=train straße=street eins=one zwei=two drei=three vier=four fünf=five
    ihnen=you mir=me dir=you man=one als=as so=so dann=then doch=but mal=once wieder=again zusammen=together heißt=means heiße=am-called`,
  fr: `le=the la=the les=the l'=the un=a une=a des=some du=of-the de=of d'=of et=and ou=or mais=but non=no oui=yes ne=not pas=not je=I j'=I tu=you
    il=he elle=she nous=we vous=you ils=they elles=they me=me te=you se=oneself mon=my ma=my mes=my ton=your ta=your son=his sa=his ses=his
    notre=our votre=your leur=their ce=this cette=this ces=these c'est=it-is est=is sont=are suis=am es=are était=was a=has ai=have ont=have
    avons=have avez=have avoir=have être=be fait=does faire=do va=goes vais=go aller=go vient=comes venir=come peut=can peux=can pouvoir=can
    veut=wants veux=want dit=says dire=say voir=see sait=knows savoir=know il-y-a=there-is à=to au=to-the aux=to-the en=in dans=in sur=on
    sous=under avec=with sans=without pour=for par=by chez=at entre=between vers=towards après=after avant=before depuis=since que=that qui=who
    quoi=what où=where quand=when comment=how pourquoi=why parce=because si=if aussi=also encore=still déjà=already très=very ici=here là=there
    maintenant=now aujourd'hui=today demain=tomorrow hier=yesterday toujours=always jamais=never bien=well bon=good bonne=good mauvais=bad
    grand=big grande=big petit=small petite=small nouveau=new nouvelle=new vieux=old beaucoup=much plus=more tout=all tous=all rien=nothing
    quelque=some chose=thing merci=thanks bonjour=hello bonsoir=good-evening salut=hi jour=day nuit=night soir=evening matin=morning an=year
    année=year temps=time semaine=week homme=man femme=woman enfant=child enfants=children maison=house ville=city pays=country monde=world
    eau=water pain=bread chien=dog chat=cat ami=friend travail=work école=school livre=book chemin=way voiture=car train=train rue=street
    deux=two trois=three quatre=four cinq=five comme=as alors=then puis=then ensemble=together`,
  es: `el=the la=the los=the las=the un=a una=a unos=some del=of-the de=of y=and o=or pero=but no=not sí=yes yo=I tú=you él=he ella=she
    nosotros=we ustedes=you ellos=they me=me te=you se=oneself nos=us mi=my mis=my tu=your su=his sus=his nuestro=our este=this esta=this
    esto=this ese=that eso=that es=is son=are soy=am está=is están=are estoy=am era=was fue=was ha=has he=have han=have tiene=has tengo=have
    tener=have ser=be hace=does hacer=do va=goes voy=go ir=go viene=comes venir=come puede=can puedo=can poder=can quiere=wants quiero=want
    dice=says decir=say ver=see sabe=knows saber=know hay=there-is a=to al=to-the en=in con=with sin=without por=by para=for sobre=on entre=between
    desde=from hasta=until después=after antes=before que=that qué=what quién=who dónde=where cuándo=when cómo=how como=as porque=because si=if
    también=also todavía=still ya=already muy=very aquí=here allí=there ahora=now hoy=today mañana=tomorrow ayer=yesterday siempre=always
    nunca=never bien=well bueno=good buena=good buenos=good buenas=good malo=bad grande=big pequeño=small nuevo=new nueva=new viejo=old
    mucho=much muchos=many más=more todo=all todos=all nada=nothing algo=something gracias=thanks hola=hello día=day días=days noche=night
    noches=nights tarde=afternoon tardes=afternoons año=year tiempo=time semana=week hombre=man mujer=woman niño=child niños=children casa=house
    ciudad=city país=country mundo=world agua=water pan=bread perro=dog gato=cat amigo=friend trabajo=work escuela=school libro=book
    camino=way coche=car tren=train calle=street dos=two tres=three cuatro=four cinco=five lo=it entonces=then juntos=together`,
  it: `il=the lo=the la=the gli=the le=the un=a uno=a una=a e=and o=or ma=but non=not sì=yes io=I tu=you lui=he lei=she noi=we voi=you loro=they
    mio=my mia=my tuo=your suo=his questo=this questa=this quello=that è=is sono=are era=was ha=has ho=have hanno=have avere=have essere=be
    fa=does fare=do va=goes vado=go andare=go viene=comes può=can posso=can vuole=wants voglio=want dice=says di=of del=of-the della=of-the
    a=to al=to-the in=in nel=in-the con=with senza=without per=for su=on da=from che=that chi=who cosa=what dove=where quando=when come=how
    perché=because se=if anche=also ancora=still già=already molto=very qui=here ora=now oggi=today domani=tomorrow ieri=yesterday sempre=always
    mai=never bene=well buono=good buona=good grande=big piccolo=small nuovo=new vecchio=old più=more tutto=all niente=nothing grazie=thanks
    ciao=hello buongiorno=good-morning giorno=day notte=night sera=evening anno=year tempo=time uomo=man donna=woman bambino=child casa=house
    città=city mondo=world acqua=water pane=bread cane=dog gatto=cat amico=friend lavoro=work scuola=school libro=book due=two tre=three`,
  pt: `o=the a=the os=the as=the um=a uma=a e=and ou=or mas=but não=not sim=yes eu=I você=you ele=he ela=she nós=we eles=they meu=my minha=my
    seu=his sua=his este=this esta=this isso=that é=is são=are sou=am está=is estão=are era=was foi=was tem=has tenho=have ter=have ser=be
    faz=does fazer=do vai=goes vou=go ir=go vem=comes pode=can posso=can quer=wants quero=want diz=says de=of do=of-the da=of-the em=in
    no=in-the na=in-the com=with sem=without para=for por=by sobre=on que=that quem=who onde=where quando=when como=how porque=because se=if
    também=also ainda=still já=already muito=very aqui=here agora=now hoje=today amanhã=tomorrow ontem=yesterday sempre=always nunca=never
    bem=well bom=good boa=good grande=big pequeno=small novo=new velho=old mais=more tudo=all nada=nothing obrigado=thanks olá=hello dia=day
    noite=night tarde=afternoon ano=year tempo=time homem=man mulher=woman casa=house cidade=city mundo=world água=water pão=bread cão=dog
    gato=cat amigo=friend trabalho=work escola=school livro=book dois=two três=three`,
  nl: `de=the het=the een=a en=and of=or maar=but niet=not geen=no ja=yes nee=no ik=I je=you jij=you hij=he zij=she ze=they wij=we we=we jullie=you
    mijn=my jouw=your zijn=are haar=her ons=us dit=this dat=that is=is ben=am was=was waren=were heeft=has heb=have hebben=have kan=can
    kunnen=can moet=must wil=want gaat=goes gaan=go komt=comes komen=come doet=does doen=do zegt=says te=to in=in op=on aan=at uit=out van=of
    met=with zonder=without voor=for over=about onder=under naar=to na=after bij=at door=through wat=what wie=who waar=where wanneer=when
    hoe=how waarom=why omdat=because als=if ook=also nog=still al=already zeer=very heel=very hier=here daar=there nu=now vandaag=today
    morgen=tomorrow gisteren=yesterday altijd=always nooit=never goed=good goede=good groot=big klein=small nieuw=new oud=old veel=much meer=more
    alles=everything niets=nothing dank=thanks hallo=hello dag=day nacht=night avond=evening jaar=year tijd=time man=man vrouw=woman kind=child
    huis=house stad=city wereld=world water=water brood=bread hond=dog kat=cat vriend=friend werk=work school=school boek=book twee=two drie=three`,
};

const DICTIONARIES = new Map<string, ReadonlyMap<string, string>>();

function dictionaryOf(language: string): ReadonlyMap<string, string> {
  const known = DICTIONARIES.get(language);
  if (known !== undefined) return known;
  const pairs = (WORDS[language] ?? '').split(/\s+/).filter((pair) => pair.includes('='));
  const made = new Map(
    pairs.map((pair): [string, string] => {
      const [word = '', english = ''] = pair.split('=');
      return [word, english.replaceAll('-', ' ')];
    }),
  );
  DICTIONARIES.set(language, made);
  return made;
}

export interface Gloss {
  /** The word in English, its punctuation kept; unchanged if it is not known. */
  of(word: string): string;
  /** Share of the words that are known, 0 to 1. */
  known(words: readonly string[]): number;
}

const LETTER = /[\p{L}\p{N}]/u;

/** A word between the signs around it: each character is looked at once, however many signs there are. */
function partsOf(word: string): { before: string; middle: string; after: string } {
  const first = word.search(LETTER);
  if (first < 0) return { before: word, middle: '', after: '' };
  const characters = [...word];
  const last = characters.findLastIndex((character) => LETTER.test(character));
  const after = characters.slice(last + 1).join('');
  return { before: word.slice(0, first), middle: word.slice(first, word.length - after.length), after };
}

/** Translates speech in another language into English, word by word. */
export function glossOf(language: string): Gloss {
  const dictionary = dictionaryOf(language);
  const find = (word: string): string | undefined => dictionary.get(word.toLowerCase().replaceAll('’', "'"));
  return {
    of(word) {
      const { before, middle, after } = partsOf(word);
      const english = find(middle);
      return english === undefined ? word : `${before}${english}${after}`;
    },
    known(words) {
      const spoken = words.map((word) => partsOf(word).middle).filter((word) => word !== '');
      return spoken.filter((word) => find(word) !== undefined).length / Math.max(1, spoken.length);
    },
  };
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Words with a capital where a sentence begins. */
export function withCapitals(words: readonly string[]): string[] {
  let begins = true;
  return words.map((word) => {
    const shown = begins ? capital(word) : word;
    begins = /[.!?]["')\]]*$/.test(word);
    return shown;
  });
}
