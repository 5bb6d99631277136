"""Words of courtesy, which tell nothing: greetings, thanks, offers of help, that something was understood."""

from lamina.knowledge.support_cues import Cue

_COURTESY = Cue(  # longer ones first
    r"""
    (?:it['\u2019]s_)?(?:nice|great|good|lovely|a_pleasure|pleased)_to_meet_you(?:_too)?
    (?:how|what)_(?:can|may|could)_i_(?:help|assist|do_for)(?:_you)?(?:_with)?(?:_today|_now)?
    is_there_anything_else(?:_i_can_(?:help|assist)(?:_you)?_with|_you_need)?(?:_today)?
    let_me_know_if_(?:you_need|there['\u2019]?s|there_is)_anything(?:_else)? happy_to_help glad_to_help
    i(?:['\u2019]ll|_will)_(?:remember|keep)_(?:that|it|this)(?:_in_mind)?
    i(?:['\u2019]ve|_have)_(?:noted|saved|stored|made_a_note_of)_(?:that|it|this)(?:_down)?
    thank(?:s|_you)_for_(?:telling_me|letting_me_know|sharing|the_(?:info|information|update))(?:_(?:that|this))?
    thank_you(?:_(?:so|very)_much)? thanks(?:_(?:a_lot|so_much))? thx you['\u2019]?re_welcome my_pleasure
    no_problem no_worries good_(?:morning|afternoon|evening|night|day) hello(?:_there)? hi(?:_there)? hey(?:_there)?
    welcome bye goodbye by_the_way btw fyi just_so_you_know for_your_information please of_course certainly absolutely
    got_it understood noted okay ok alright all_right sure great good nice perfect wonderful awesome cool fine well
    oh yes yeah yep

    guten_(?:morgen|tag|abend) hallo servus danke(?:_schön)? vielen_dank bitte(?:_schön)? gern(?:e|_geschehen)?
    alles_klar verstanden notiert übrigens schön freut_mich wie_kann_ich_(?:dir|ihnen)_helfen
    buenos_días buenas_(?:tardes|noches) hola muchas_gracias gracias de_nada por_favor por_cierto vale entendido
    anotado claro bonjour bonsoir salut merci(?:_beaucoup)? de_rien s['\u2019]il_(?:te|vous)_plaît d['\u2019]accord
    bien_sûr noté entendu au_fait bom_dia boa_(?:tarde|noite) olá oi muito_obrigad[oa] obrigad[oa] por_nada
    buongiorno buonasera ciao grazie(?:_mille)? prego per_favore d['\u2019]accordo capito a_proposito certo
    goede(?:morgen|middag|navond) goedendag hoi dank_(?:je|u)(?:_wel)? bedankt alstublieft graag_gedaan prima
    begrepen genoteerd trouwens
    """
)


def without_courtesies(text: str) -> str:
    """What a text says beside them."""
    return _COURTESY.pattern.sub(" ", text)
