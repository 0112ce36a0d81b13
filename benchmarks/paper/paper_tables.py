"""The paper's Tables 1 to 4."""

from __future__ import annotations

from dataclasses import dataclass

NEWSGROUP_RADII = (3.0, 5.0, 7.0, 9.0, 11.0, 13.0)
STOCK_RADII = (2.7, 3.9, 4.9, 5.0, 6.7, 7.7, 8.2)
R_RANGE = {"newsgroup": (2.3678, 12.2692), "stocks": (1.0337, 8.1172)}


@dataclass(frozen=True, slots=True)
class Row:
    """A row of Table 1 (with coherence and predictive scores) or of Table 4 (without)."""

    hidden: int
    edges: int | None
    perp_ll: float
    perp_bic: float
    pmi: float | None = None
    pred_perp_ll: float | None = None
    pred_perp_bic: float | None = None


TABLE_1 = {
    3.0: Row(55, 265, 1.1533, 1.1560, 0.2638, 1.0695, 1.0720),
    5.0: Row(39, 293, 1.1567, 1.1594, 0.4875, 1.0424, 1.0448),
    7.0: Row(32, 183, 1.1498, 1.1518, 0.4313, 1.0664, 1.0682),
    9.0: Row(24, 129, 1.1543, 1.1560, 0.6037, 1.0780, 1.0795),
    11.0: Row(26, 125, 1.1555, 1.1571, 0.4585, 1.0787, 1.0802),
    13.0: Row(24, 123, 1.1560, 1.1576, 0.4289, 1.0788, 1.0803),
}
TABLE_1_LDA = {
    10: Row(10, None, 1.1480, 1.1544, 0.2921, 1.1623, 1.1656),
    20: Row(20, None, 1.1348, 1.1474, 0.1919, 1.1572, 1.1638),
    30: Row(30, None, 1.1421, 1.1612, 0.1653, 1.1616, 1.1715),
    40: Row(40, None, 1.1494, 1.1752, 0.1470, 1.1634, 1.1767),
}
TABLE_4 = {
    2.7: Row(35, 154, 1.9498, 2.0296),
    3.9: Row(39, 139, 2.0200, 2.0993),
    4.9: Row(35, 129, 2.0210, 2.0960),
    5.0: Row(36, 131, 2.0169, 2.0927),
    6.7: Row(26, 111, 2.0344, 2.1016),
    7.7: Row(26, 111, 2.0353, 2.1025),
    8.2: Row(26, 110, 2.0405, 2.1076),
}
TABLE_2 = {
    "16": "lunar moon orbit solar mission satellite earth shuttle mars space",
    "18": "disk drive dos memory windows pc software scsi computer system",
    "12": "card video windows driver graphics dos version ftp pc disk",
    "1": "god jesus bible christian religion earth question fact jews evidence",
    "8": "software pc computer system dos windows disk science drive university",
}
"""Ten words for each of five topics of the graph at r = 9."""
TABLE_3 = {
    "4": "space nasa insurance earth moon orbit mission launch gun shuttle",
    "8": "windows files dos format ftp program software win version pc",
    "7": "card graphics video driver windows computer pc version software system",
    "6": "god world fact christian jesus religion bible evidence human question",
    "5": "drive states research disk university mac scsi computer system power",
}
"""Ten words for each of five topics of LDA with ten topics."""

SIC_GROUPS = {
    "0": "index",
    "13": "oil and gas",
    "20": "food",
    "21": "tobacco",
    "24": "wood and paper",
    "26": "wood and paper",
    "28": "chemicals and drugs",
    "29": "oil and gas",
    "33": "metal",
    "35": "machines and computers",
    "36": "electronics",
    "37": "vehicles and aircraft",
    "38": "instruments",
    "40": "transport",
    "45": "transport",
    "48": "communication",
    "49": "power",
    "52": "shops and restaurants",
    "53": "shops and restaurants",
    "58": "shops and restaurants",
    "59": "shops and restaurants",
    "60": "banks and insurance",
    "61": "banks and insurance",
    "62": "banks and insurance",
    "63": "banks and insurance",
    "73": "software and media",
    "80": "health",
}
"""Sectors by the first two digits of the Standard Industrial Classification code."""
OIL_SERVICES = (3533,)
"""Oil field machinery: machinery by its code, but counted as oil."""


def sector(code: int) -> str:
    """Return the sector of an industry code."""
    if code in OIL_SERVICES:
        return "oil and gas"
    return SIC_GROUPS.get(str(code)[:2] if code else "0", "other")
