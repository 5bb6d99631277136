"""A talk with tool calls and long messages: an old boat is made ready for the water, in 58 turns of 124 messages."""

import json
from typing import Any

Said = dict[str, Any]

_PARTS = ("keel", "mast step", "port shroud", "rudder bearing", "bilge pump", "fuel hose", "gas locker", "anchor chain")
_REPORT = "\n".join(
    f"{number}. {part}: {'worn, replace before launch' if number % 3 else 'sound, look again in a year'}; measured"
    f" {number * 3 + 2} mm where the drawing has {number * 3 + 5}. The surface was cleaned with a brush and looked at"
    f" under a lamp, the fastenings were tapped with a hammer, and photographs {number * 4} to {number * 4 + 3} are"
    " in the annex. The owner should keep the old piece until the insurer has seen it."
    for number, part in enumerate(_PARTS, 1)
)
_TABLE = "\n".join(
    f"def tide_{hour}(range_m: float) -> float:\n    return range_m * {hour} / 12" for hour in range(1, 13)
)
_RULES = "The rule is for all hulls that lie in the harbour for longer than three days. " * 40
_WEATHER = json.dumps([{"day": day, "rain_mm": day * 2 % 5, "degrees": 4 + day % 3} for day in range(1, 8)])


def _call(name: str, result: str, **arguments: Any) -> list[Said]:
    key = f"call_{name}_{len(result)}"
    function = {"name": name, "arguments": json.dumps(arguments)}
    asked = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": key, "type": "function", "function": function}],
    }
    return [asked, {"role": "tool", "tool_call_id": key, "content": result}]


_TOOLS: dict[int, list[Said]] = {  # by turn: what is called before the reply
    3: _call("weather", _WEATHER, place="Svendborg", days=7),
    7: _call("shop", "94 EUR Hamburg, 3 days; 101 EUR Odense, 1 day; 118 EUR Svendborg, today", query="gasket DV20")
    + _call("order", "order 88123 placed: 101 EUR, arrives on Thursday", offer=2),
    13: _call(
        "search", f"Harbour rules 2025, paragraph 7: no copper from 1 March 2025. {_RULES}", query="copper paint"
    ),
    18: _call("calendar", "added", day="2025-04-18", title="Slip"),
}

_SAID = """
Hi, I'm Henrik. We bought a wooden ketch from 1987 called Solveig, and I want her in the water in April.
Lovely. Where does she lie, and what is known about her state?
She lies in a shed in Svendborg. This is what the surveyor wrote: [report]
A clear list. I would not postpone the rudder bearing and the gas locker.
What will the weather be in Svendborg next week? I want to varnish.
Dry on two days, and never above 6 degrees. That is too cold for varnish; wait for ten.
Then the engine first. It is a Bukh DV20; it starts, but it smokes white.
White smoke from a cold engine is often unburnt fuel. Does it stay white when the engine is warm?
It does.
Then measure the compression before you take anything apart. Below 20 bar points to the gasket or the rings.
19 and 26 bar. Order a gasket kit please, but not above 120 euros.
I will look for one. Shall it be the original part?
Original if it is within the limit.
Ordered from Odense for 101 euros, order 88123. It arrives on Thursday.
Great. My brother Lars helps me on Saturdays. He is allergic to epoxy, by the way.
Then do the epoxy work on another day, or give him gloves and a mask.
Write me a little table of the tide, one function for each hour. I'll extend it.
Here is a start, by the rule of twelfths: [table]
Thanks. Which paint for the hull, one-part or two-part?
One-part on an old wooden hull: it moves with the planks, and you can patch it.
We decided on one-part paint in dark green.
Good. You need about 8 litres for two coats above the waterline.
And below the waterline?
A soft antifouling without copper, since the harbour no longer allows copper.
Really? Since when?
Since 1 March 2025, by paragraph 7 of the harbour rules.
I prefer to buy from the chandler in Faaborg, they know us.
Noted. They have both paints.
How much will all of this cost?
Gasket 101, paint 272, antifouling 160, bearing 85, gas hose and valve 70, shrouds 240: 928 euros without the slip.
The slip costs 310. My limit is 1,500 for the spring.
Then 262 are left for what you find under the cylinder head.
I need the launch to be on 19 April, because my daughter comes from Bergen that weekend.
Counting back: paint done by the 12th, mast up on the 16th, slip on the 18th.
Put the slip for the 18th into my calendar.
It is in the calendar. The yard still has to confirm it.
I'll call them on Monday.
Good. Ask for a time at high water.
What did the surveyor say about the anchor chain?
Worn, to be replaced before the launch. Twenty metres of 8 mm are enough.
The gasket came. The old one was burnt between the cylinder and the water channel.
That explains the smoke. Check the head for flatness with a ruler before you close it.
What is the torque for the head bolts?
65 newton metres in three steps, crosswise, and once more after ten hours.
Lars dropped a nut into the bilge.
A magnet on a string finds it, if it is steel.
Found it. The compression is 26 and 27 now, and the smoke is gone.
Well done. Let it run for an hour under load at the quay.
I ran it for an hour, 78 degrees all the time.
That is as it should be.
Now the rudder bearing: bronze or plastic?
Bronze on a bronze shaft wears both. Take the plastic one if the shaft is bronze.
The shaft is stainless steel, 38 mm.
Then bronze, 38 by 50 by 60 mm.
The yard confirmed the slip for the 18th at nine in the morning.
High water is at ten past ten, so that fits.
There is a soft plank under the chain plate, starboard, third from the deck, 60 cm long.
Cut back to sound wood and scarf in a new piece, one to eight.
Larch or oak?
Larch, as the other planks are. Oak would move differently.
We chose larch. It is in, and it looks good.
Prime the end grain twice before you paint.
Shrouds of 6 mm or 7 mm wire?
Seven for a ketch of her weight.
The rigger wants 280 euros for them.
That is 40 more than planned; 222 are left.
That is fine. My daughter asks what she should bring.
Boots with light soles, a warm hat and a sleeping bag.
What was Lars allergic to?
Epoxy.
The antifouling is on, and the first coat of green.
Wait two days for the second coat, and sand lightly in between.
The mast goes up on Wednesday, the crane is booked for ten.
Then have the new shrouds measured by Monday.
The insurer wants the survey, a photo of the new plank, a fire blanket and two extinguishers.
Two of 2 kilos with powder or foam, one near the companionway and one in the cabin.
The chandler has them for 38 each.
With the blanket that is 95; 127 are left.
What is still open before the launch?
The second coat, the anchor chain, the shrouds, the extinguishers and the mast.
Is there ice in the fjord in April?
Hardly ever. The water has about six degrees.
How long do the planks take to swell?
Two to five days. Keep a second pump on board and look every three hours.
I have only one pump.
Borrow one from the yard for the first night.
The yard lends me one, with a float switch.
Good. Test the switch before you leave her alone.
The mast is up, and it did not even rain.
Then tune it loosely now and properly when she floats.
We launched! She takes a little water.
How much in an hour?
Three litres in the first hour, one in the second.
That is normal for her age. It should stop within three days.
It has stopped, and my daughter loves her.
Then she is a boat again. Congratulations to all of you.
Where shall we sail first?
To Troense and around Thuroe: twelve miles, sheltered, and there is a quay for lunch.
I'd rather start with three miles.
Then to Troense and back, with the wind from the west.
Lars wants to steer.
Let him; have somebody at the sheets who knows the boat.
Remind me to tighten the head bolts after ten hours.
After ten hours of running: 65 newton metres, crosswise.
The bill of the yard is 335 instead of 310.
Then 102 euros are left of your 1,500.
Who pays if the crane damages the mast?
The yard's liability insurance; ask for the policy number now, while all is well.
They gave it to me: 55-2041.
I would write it on the first page of the log book.
What should I write into the log book each day?
Time, place, wind, engine hours, litres of fuel, and what you changed.
My engine hours stand at 1,204.
Then the bolts are due at 1,214.
Thank you for everything. We sail tomorrow.
Fair winds, Henrik.
""".strip()


def _turns() -> list[list[Said]]:
    lines = _SAID.replace("\n", "\0").replace("[report]", _REPORT).replace("[table]", _TABLE).split("\0")
    turns = []
    for number, start in enumerate(range(0, len(lines), 2), 1):
        question, reply = lines[start : start + 2]
        turns.append(
            [{"role": "user", "content": question}, *_TOOLS.get(number, ()), {"role": "assistant", "content": reply}]
        )
    return turns


TURNS = _turns()
