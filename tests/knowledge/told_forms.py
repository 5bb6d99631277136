"""Forms in which models tell what they know of a user, and pairs of them that follow each other."""

from tests.knowledge.told_pairs import Change

# What is told, and the keys and values that it makes.
FORMS: tuple[tuple[str, dict[str, str]], ...] = (
    ("likes tea", {"tea": "likes tea"}),
    ("prefers tea over coffee", {"tea": "prefers tea over coffee"}),
    ("Works as a nurse at UZ Leuven", {"job": "nurse", "employer": "UZ Leuven"}),
    ("works as a data analyst for Colruyt", {"job": "data analyst", "employer": "Colruyt"}),
    ("Nurse at UZ Leuven", {"job": "nurse", "employer": "UZ Leuven"}),
    ("34 years old", {"age": "34"}),
    ("Has two kids", {"children": "two kids"}),
    ("Lives in Ghent, works at Acme, has two kids", {"location": "Ghent", "employer": "Acme", "children": "two kids"}),
    ("User is vegan, speaks Dutch", {"diet": "vegan", "speaks dutch": "Dutch"}),
    ("User moved into payments at Globex", {"department": "payments", "employer": "Globex"}),
    ("favourite editor: Helix", {"favourite editor": "Helix"}),
    ("Favorite food = ramen", {"favourite food": "ramen"}),
    ("car: Volvo", {"car": "Volvo"}),
    ("shoe size: 43", {"shoe size": "43"}),
    ("phone: 0470 11 22 33", {"phone": "0470 11 22 33"}),
    ("phone: Pixel 6", {"phone model": "Pixel 6"}),
    ("wife: Ann", {"wife": "Ann"}),
    ("manager: Petra", {"manager": "Petra"}),
    ("budget: 900 euros", {"budget": "900 euros"}),
)

# Lines that name nothing that somebody has.
PLAIN: tuple[str, ...] = (
    "Note: buy milk",
    "TODO: call Ann",
    "Plan: go out",
    "Warning: low disk size: 3",
    "What budget: 300?",
    "Meeting at Google",
    "Deploy on Friday",
    "The nurse at UZ Leuven",
    "User's doctor is Dr. Weber",
    "Good cook at home",
)

CHANGES: tuple[Change, ...] = (
    ("User is vegetarian", "The user now eats meat again", "vegetarian", "meat"),
    ("User is vegan", "User is no longer vegan", "vegan", ""),
    ("favourite editor: Helix", "switched to Neovim", "helix", "neovim"),
    ("favourite colour: teal", "favourite colour: maroon", "teal", "maroon"),
    ("employer: Initech", "employer: Hooli", "initech", "hooli"),
    ("Job: plumber", "Job: electrician", "plumber", "electrician"),
    ("Works as a nurse at UZ Leuven", "Left UZ Leuven, now a nurse at AZ Groeninge", "uz leuven", "groeninge"),
    ("Works as an analyst at Deloitte", "Now works at KPMG", "deloitte", "kpmg"),
    ("User works as a cook at Noma", "User now works at Geranium", "noma", "geranium"),
    ("Works at Siemens as a welder", "Works at Bosch now", "siemens", "bosch"),
    ("User moved into payments at Globex", "User moved into fraud at Globex", "payments", "fraud"),
    ("Lives in Bruges", "Moved to Namur", "bruges", "namur"),
    ("Has two kids", "Now has three kids", "two", "three"),
    ("Has a cat named Pixel", "Pixel the cat passed away", "pixel", "passed"),
    ("Drives a Skoda", "Sold the Skoda, drives a Tesla now", "skoda", "tesla"),
    ("Is a teacher", "Is now a headmaster", "teacher", "headmaster"),
    ("Uses Slack", "Switched from Slack to Zulip", "slack", "zulip"),
    ("User's boss is Karin", "The user's boss is Ahmed now", "karin", "ahmed"),
    ("User's favourite drink is tea", "User's favourite drink is now oat latte", "tea", "latte"),
    ("The user is unemployed", "The user is working again, as a driver", "unemployed", "driver"),
    (
        "The user is no longer a member of the chess club",
        "The user is a member of the chess club again",
        "no longer",
        "member",
    ),
    ("Budget: 900 euros", "Budget: 1200 euros", "900", "1200"),
    ("Prefers morning meetings", "Now prefers afternoon meetings", "morning", "afternoon"),
    ("Studies law at KU Leuven", "Switched from law to economics", "law", "economics"),
    ("Is allergic to peanuts", "Is no longer allergic to peanuts", "peanuts", ""),
    ("phone: Pixel 6", "phone: Fairphone 5", "pixel", "fairphone"),
)
