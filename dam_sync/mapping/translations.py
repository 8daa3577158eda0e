"""Names of fields in German, Dutch, French, Spanish and Italian, as museums, archives and newspapers write them, by the
first name of their row in `meanings`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

TRANSLATIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "title": (
        "Titel", "Überschrift", "Schlagzeile", "Bildtitel", "Werktitel", "kop", "opschrift",
        "titre", "intitulé", "título", "titular", "titolo",
    ),
    "headline": ("Überschrift", "Schlagzeile", "kop", "titular"),
    "description": (
        "Beschreibung", "Bildunterschrift", "Bildlegende", "Bildtext", "Kurztext", "Legende", "Kurzbeschreibung",
        "Zusammenfassung", "beschrijving", "omschrijving", "bijschrift", "onderschrift", "samenvatting", "légende",
        "résumé", "descriptif", "descripción", "leyenda", "pie de foto", "resumen", "descrizione", "didascalia",
        "riassunto",
    ),
    "description writer": ("Textautor", "Verfasser der Beschreibung", "auteur de la légende"),
    "keyword": (
        "Schlagwort", "Schlagwörter", "Schlagworte", "Stichwort", "Stichwörter", "Stichworte", "Suchbegriff",
        "Suchbegriffe", "Thema", "Themen", "Verschlagwortung", "Deskriptoren", "trefwoord", "trefwoorden", "onderwerp",
        "onderwerpen", "zoekterm", "zoektermen", "steekwoorden", "mot clé", "mots clés", "mots clefs", "sujet",
        "thème", "indexation", "descripteur", "palabra clave", "palabras clave", "descriptores", "tema", "materia",
        "parola chiave",
        "parole chiave", "soggetto", "soggetti",
    ),
    "creator": (
        "Urheber", "Künstler", "Künstlerin", "Hersteller", "Autor", "Verfasser", "Schöpfer", "vervaardiger",
        "kunstenaar", "auteur", "schepper", "créateur", "artiste", "auteur exécutant", "fabricant", "creador",
        "autoría",
        "artista", "autore", "creatore", "hergestellt von", "gefertigt von", "geschaffen von", "gemaakt door",
        "vervaardigd door", "fabriqué par", "réalisé par", "hecho por", "realizado por", "fatto da", "realizzato da",
    ),
    "photographer": (
        "Fotograf", "Fotografin", "Photograph", "Bildautor", "Foto von", "Aufnahme von", "Urheber", "Autor",
        "fotograaf", "foto door", "auteur", "photographe", "auteur de la photographie", "fotógrafo", "fotografo",
        "autore", "fotografiert von", "aufgenommen von", "gefotografeerd door", "photographié par", "fotografiado por",
        "fotografato da",
    ),
    "right": (
        "Rechte", "Urheberrecht", "Urheberrechtsvermerk", "Copyrightvermerk", "Rechtehinweis", "rechten",
        "auteursrecht", "auteursrechten", "droits", "droits d'auteur", "mention de copyright", "derechos",
        "derechos de autor", "diritti", "diritti d'autore",
    ),
    "usage terms": (
        "Nutzungsbedingungen", "Nutzungsrechte", "Nutzungseinschränkung", "Nutzungshinweise", "gebruiksvoorwaarden",
        "gebruiksrechten", "gebruiksbeperking", "conditions d'utilisation", "droits d'utilisation",
        "restrictions d'usage", "condiciones de uso", "condizioni d'uso",
    ),
    "licence": (
        "Lizenz", "Lizenzart", "Lizenztyp", "licentie", "licentietype", "type de licence", "licencia", "licenza",
    ),
    "copyright holder": (
        "Rechteinhaber", "Urheberrechtsinhaber", "rechthebbende", "auteursrechthebbende", "ayant droit",
        "détenteur des droits", "titulaire des droits", "titular de los derechos", "titolare dei diritti", "Rechte bei",
        "rechten bij", "droits détenus par",
    ),
    "credit": (
        "Bildnachweis", "Fotonachweis", "Abbildungsnachweis", "Nachweis",
        "Quellenangabe", "Creditzeile", "bronvermelding", "naamsvermelding",
        "crédit", "crédit photo", "crédit photographique", "mention obligatoire", "mention de crédit", "crédito",
        "credito", "crediti", "Danksagung", "Dank", "dankbetuiging", "remerciements", "agradecimientos",
        "ringraziamenti",
    ),
    "source": (
        "Quelle", "Bildquelle", "Bildagentur", "Agentur", "Lieferant", "bron", "leverancier", "fournisseur", "agence",
        "fuente", "agencia", "fonte", "agenzia",
    ),
    "shot date": (
        "Aufnahmedatum", "Aufnahmetag", "aufgenommen am", "Fotodatum", "opnamedatum", "datum opname", "fotodatum",
        "genomen op", "fotografiert am", "gefotografeerd op", "photographié le", "fotografiado el", "fotografato il",
         "date de prise de vue", "prise de vue", "date de la photo", "fecha de toma",
        "fecha de captura", "fecha de la foto", "data di scatto", "data dello scatto",
    ),
    "site": ("Ort", "Aufnahmeort", "Schauplatz", "plaats", "locatie", "lieu", "lieu représenté", "lugar", "luogo"),
    "city": ("Stadt", "Ortschaft", "stad", "gemeente", "ville", "ciudad", "municipio", "città", "comune"),
    "province state": ("Bundesland", "Kanton", "Provinz", "provincie", "région", "provincia", "región", "regione"),
    "country": ("Land", "pays", "país", "paese", "nazione"),
    "country code": ("Ländercode", "Länderkürzel", "landcode", "code pays"),
    "job id": ("Auftragsnummer", "opdrachtnummer", "numéro de commande"),
    "instruction": ("Anweisung", "Anweisungen", "Hinweise", "instructies", "consignes", "instrucciones", "istruzioni"),
    "person": (
        "Personen", "abgebildete Person", "abgebildete Personen", "dargestellte Personen", "Personen im Bild",
        "persoon", "afgebeelde personen", "geportretteerde", "personne", "personnes représentées", "personnages",
        "persona", "personas", "persone",
    ),
    "event": ("Ereignis", "Veranstaltung", "Anlass", "gebeurtenis", "evenement", "événement", "evento"),
    "series": ("Serie", "Reihe", "reeks", "série"),
    "inventory": (
        "Inventarnummer", "Inventar Nr", "Inv Nr", "Objektnummer", "Signatur", "inventarisnummer", "inventaris nr",
        "objectnummer", "numéro d'inventaire", "n inventaire", "no inventaire", "cote", "número de inventario",
        "numero d'inventario", "numero inventario", "Zugangsnummer", "Registriernummer", "Akzessionsnummer",
        "inschrijfnummer", "inschrijvingsnummer", "registratienummer", "aanwinstnummer", "numéro d'enregistrement",
        "numéro d'entrée", "número de registro", "número de entrada", "numero di registro", "numero di ingresso",
    ),
    "note": (
        "Notiz", "Bemerkung", "Bemerkungen", "Anmerkung", "Anmerkungen", "Kommentar", "opmerking", "opmerkingen",
        "notitie", "aantekening", "remarque", "commentaire", "observation", "nota", "observaciones", "comentario",
        "osservazioni", "commento",
    ),
    "medium": (
        "Technik", "Material", "Werkstoff", "Material und Technik", "techniek", "materiaal", "materiaal en techniek",
        "matière", "matériau", "matériaux", "matériaux et techniques", "matières et techniques", "técnica",
        "soporte y técnica",
        "material", "materiales", "tecnica", "materiale", "materia e tecnica",
    ),
    "dimension": (
        "Maße", "Abmessung", "Abmessungen", "afmeting", "afmetingen", "maten", "mesures", "dimensiones", "medidas",
        "dimensioni", "misure",
    ),
    "classification": (
        "Objektart", "Objekttyp", "Objektklasse", "Gattung", "Werkgattung", "Sachgruppe", "Klassifikation",
        "Klassifizierung", "objectsoort", "objecttype", "objectnaam", "objectcategorie", "classificatie",
        "soort object", "type d'objet", "type d'oeuvre", "catégorie d'objet", "dénomination", "domaine",
        "tipo de objeto", "clasificación", "tipo di oggetto", "tipologia", "classificazione",
    ),
    "date made": (
        "Datierung", "Entstehungszeit", "Entstehungsdatum", "Entstehungsjahr", "Herstellungsdatum", "datering",
        "vervaardigingsdatum", "vervaardigingsjaar", "datum vervaardiging", "datation", "date d'exécution",
        "date de l'oeuvre", "période de création", "époque", "datación", "cronología", "fecha de ejecución",
        "datazione", "cronologia", "data di esecuzione", "entstanden", "Herstellungszeit", "ontstaan", "ontstaansdatum",
        "vervaardigd in",
    ),
    "acquisition date": (
        "Erwerbungsdatum", "Erwerbsdatum", "Zugangsdatum", "Ankaufsdatum", "Eingangsdatum", "Eingang am", "Zugang am",
        "erworben", "erworben am",
        "verwervingsdatum", "aanwinstdatum", "aankoopdatum", "datum verwerving", "verworven", "verworven op",
        "date d'acquisition", "acquis le", "date d'entrée", "date d'achat", "fecha de adquisición",
        "fecha de ingreso", "data di acquisizione", "acquisito il", "eingegangen am", "erhalten am", "ontvangen op",
        "binnengekomen op", "reçu le", "entré le", "recibido el", "ingresado el", "ricevuto il",
    ),
    "publication date": (
        "Erscheinungsdatum", "Veröffentlichungsdatum", "veröffentlicht am", "Publikationsdatum", "publicatiedatum",
        "verschijningsdatum", "gepubliceerd op", "date de parution", "date de publication", "publié le",
        "fecha de publicación", "data di pubblicazione",
    ),
    "collection": ("Sammlung", "Bestand", "collectie", "fonds", "colección", "collezione", "fondo"),
    "alt text": ("Alternativtext", "alternatieve tekst", "texte alternatif", "texto alternativo"),
    "language": ("Sprache", "taal", "langue", "idioma", "lingua"),
    "publisher": ("Herausgeber", "Verlag", "uitgever", "éditeur", "editorial", "editore"),
    "expiry date": (
        "Ablaufdatum", "gültig bis", "Lizenzende", "läuft ab", "vervaldatum", "geldig tot", "date d'expiration",
        "valable jusqu'au", "fin de licence", "fecha de caducidad", "data di scadenza",
    ),
    "project": ("Projekt", "projet", "proyecto", "progetto"),
    "department": ("Abteilung", "afdeling"),
    "client": ("Kunde", "Auftraggeber", "klant", "cliente"),
    "campaign": ("Kampagne", "campagne"),
    "brand": ("Marke", "merk", "marque"),
    "storage location": (
        "Standort", "Lagerort", "Aufbewahrungsort", "Depotstandort", "standplaats", "bewaarplaats", "depotlocatie",
        "lieu de conservation", "localisation", "emplacement", "ubicación", "localización", "collocazione",
        "ubicazione",
    ),
    "findspot": (
        "Fundort", "Fundstelle", "Fundplatz", "vindplaats", "lieu de découverte", "lieu de trouvaille",
        "lugar de hallazgo", "luogo di ritrovamento", "luogo di rinvenimento",
    ),
    "provenance": (
        "Provenienz", "Herkunft", "Vorbesitz", "Vorbesitzer", "Besitzgeschichte", "herkomst", "vorige eigenaar",
        "eigendomsgeschiedenis", "historique", "historique de propriété", "ancien propriétaire", "procedencia",
        "propietario anterior", "antiguo propietario", "provenienza",
    ),
    "condition": (
        "Zustand", "Erhaltung", "Erhaltungszustand", "Objektzustand", "toestand", "conditie", "staat van bewaring",
        "staat van conservering", "état", "état de conservation", "constat d'état", "estado de conservación",
        "stato di conservazione", "conservazione",
    ),
    "bibliography": ("Bibliografie", "Literatur", "literatuur", "bibliographie", "bibliografía", "bibliografia"),
    "on display": (
        "ausgestellt", "in Ausstellung", "tentoongesteld", "op zaal", "exposé", "en exposition", "expuesto",
        "en exposición", "esposto", "in mostra",
    ),
    "height": ("Höhe", "hoogte", "hauteur", "altura", "alto", "altezza"),
    "width": ("Breite", "breedte", "largeur", "anchura", "ancho", "larghezza"),
    "depth": ("Tiefe", "diepte", "profondeur", "profundidad", "profondità"),
    "length": ("Länge", "lengte", "longueur", "largo", "lunghezza"),
    "weight": ("Gewicht", "poids", "peso"),
    "diameter": ("Durchmesser", "diamètre", "diámetro", "diametro"),
    "image height": ("Bildhöhe", "Höhe in Pixel"),
    "image width": ("Bildbreite", "Breite in Pixel"),
    "acquisition method": (
        "Erwerbungsart", "Erwerbsart", "Zugangsart", "Art der Erwerbung", "Art des Zugangs", "verwervingswijze",
        "verwervingsmethode", "wijze van verwerving", "mode d'acquisition", "forma de adquisición",
        "forma de ingreso", "modo de adquisición", "modalità di acquisizione", "modo di acquisizione",
    ),
    "insurance value": (
        "Versicherungswert", "Versicherungssumme", "verzekeringswaarde", "verzekerde waarde", "verzekerd bedrag",
        "valeur d'assurance", "valeur assurée", "valor de seguro", "valor asegurado", "valore assicurativo",
        "valore assicurato",
    ),
    "valuation": (
        "Schätzwert", "Taxwert", "taxatie", "taxatiewaarde", "valeur estimée", "valor estimado", "valor de tasación",
        "valore stimato",
    ),
    "loanable": (
        "ausleihbar", "verleihbar", "ausleihfähig", "uitleenbaar", "empruntable", "prêtable", "disponible pour prêt",
        "prestable", "prestabile",
    ),
    "colour": ("Farbe", "kleur", "couleur", "colore"),
}  # fmt: skip
