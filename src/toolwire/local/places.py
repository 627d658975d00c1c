"""Places and their time zones, those people ask for, so that the model need not guess on which continent they lie."""

from __future__ import annotations

AREAS = {
    "Africa": "Abidjan Accra Addis_Ababa Algiers Cairo Casablanca Dakar Johannesburg Kampala Khartoum Kinshasa Lagos "
    "Luanda Lusaka Maputo Nairobi Tripoli Tunis Windhoek",
    "America": "Anchorage Asuncion Bogota Caracas Chicago Denver Detroit Edmonton Guatemala Halifax Havana Jamaica "
    "La_Paz Lima Los_Angeles Managua Manaus Mexico_City Montevideo Montreal New_York Panama Phoenix Puerto_Rico "
    "Santiago Sao_Paulo Toronto Vancouver Winnipeg",
    "Asia": "Almaty Amman Baghdad Baku Bangkok Beirut Colombo Damascus Dhaka Dubai Hong_Kong Jakarta Jerusalem Kabul "
    "Karachi Kathmandu Kolkata Kuala_Lumpur Kuwait Macau Manila Qatar Riyadh Seoul Shanghai Singapore Taipei Tashkent "
    "Tbilisi Tehran Tokyo Ulaanbaatar Vladivostok Yangon Yerevan",
    "Atlantic": "Azores Bermuda Canary Reykjavik",
    "Australia": "Adelaide Brisbane Darwin Hobart Melbourne Perth Sydney",
    "Europe": "Amsterdam Athens Belgrade Berlin Bratislava Brussels Bucharest Budapest Chisinau Copenhagen Dublin "
    "Helsinki Istanbul Kyiv Lisbon Ljubljana London Luxembourg Madrid Malta Minsk Monaco Moscow Oslo Paris Prague Riga "
    "Rome Sarajevo Skopje Sofia Stockholm Tallinn Tirane Vaduz Vatican Vienna Vilnius Warsaw Zagreb Zurich",
    "Indian": "Maldives Mauritius",
    "Pacific": "Auckland Fiji Guam Honolulu Tahiti",
}
"""Areas of the IANA time zone database with zones named after the place."""

_ELSEWHERE = {
    "America/Argentina/Buenos_Aires": "argentina buenos_aires",
    "America/Chicago": "dallas houston texas austin",
    "America/Los_Angeles": "california las_vegas san_diego san_francisco seattle portland",
    "America/New_York": "atlanta boston florida miami philadelphia washington",
    "America/Sao_Paulo": "brazil rio rio_de_janeiro",
    "America/Bogota": "colombia",
    "America/Santiago": "chile",
    "Africa/Cairo": "egypt",
    "Africa/Johannesburg": "cape_town south_africa",
    "Africa/Lagos": "nigeria",
    "Africa/Nairobi": "kenya",
    "Asia/Dubai": "abu_dhabi",
    "Asia/Ho_Chi_Minh": "hanoi saigon vietnam",
    "Asia/Jerusalem": "israel tel_aviv",
    "Asia/Kolkata": "bangalore delhi india mumbai new_delhi",
    "Asia/Manila": "philippines",
    "Asia/Seoul": "korea south_korea",
    "Asia/Shanghai": "beijing china",
    "Asia/Tokyo": "japan kyoto osaka",
    "Asia/Bangkok": "thailand",
    "Asia/Jakarta": "indonesia",
    "Atlantic/Reykjavik": "iceland",
    "Etc/GMT": "gmt",
    "Europe/Amsterdam": "holland netherlands rotterdam",
    "Europe/Athens": "greece",
    "Europe/Berlin": "cologne frankfurt germany hamburg munich",
    "Europe/Brussels": "belgium",
    "Europe/Copenhagen": "denmark",
    "Europe/Dublin": "ireland",
    "Europe/Helsinki": "finland",
    "Europe/Istanbul": "turkey",
    "Europe/Kyiv": "kiev ukraine",
    "Europe/Lisbon": "portugal",
    "Europe/London": "britain edinburgh england manchester scotland uk",
    "Europe/Madrid": "barcelona spain",
    "Europe/Oslo": "norway",
    "Europe/Paris": "france lyon marseille",
    "Europe/Rome": "italy milan naples",
    "Europe/Stockholm": "sweden",
    "Europe/Vienna": "austria",
    "Europe/Warsaw": "poland",
    "Europe/Zurich": "bern geneva switzerland",
    "Pacific/Auckland": "new_zealand wellington",
    "Pacific/Honolulu": "hawaii",
    "UTC": "utc",
}

ZONES = {
    **{place.lower(): f"{area}/{place}" for area, places in AREAS.items() for place in places.split()},
    **{place: zone for zone, places in _ELSEWHERE.items() for place in places.split()},
}
"""Place, in lower case with `_` for blanks, to IANA zone."""
