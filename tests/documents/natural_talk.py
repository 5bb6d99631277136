"""A talk of eighty messages as people write them: a move to another town, a billing service, a knee."""

_SAID = """
Hi! I'm Nadia. I'm moving from Ghent to Porto in September and I'd like some help keeping it all straight.
Hello Nadia, congratulations. What is settled already, and what is still open?
The job is settled: I start at a ferry company on 15 September as a backend developer. The flat is not.
Then let's start with the flat. Which part of the city, and what rent can you pay?
Somewhere near Bonfim or Cedofeita. My budget for rent is 950 euros a month, bills included.
Bonfim is the calmer of the two. For 950 euros a small two-room flat is realistic if you look early.
It needs to allow a dog. Pico is a greyhound, 28 kilos, very lazy.
Many landlords say no at first and yes after meeting the dog. A short note about Pico with a photo helps.
Good idea. Can you write me that note in Portuguese? Two sentences are enough.
O Pico é um galgo calmo de 28 quilos que dorme quase o dia todo. Tem todas as vacinas e seguro de responsabilidade civil.
Perfect, thanks. Next: I have to deregister at the town hall in Ghent before I leave.
You can do that at most thirty days before you move. Take your identity card and the new address if you have it.
I won't have the address yet. Is that a problem?
No, they accept a declaration that you leave the country. You send the address later through the consulate.
OK. Different topic: at work we are choosing a vector database for the help-desk search. FAISS or pgvector?
pgvector if your data is in PostgreSQL already and below a few million rows. FAISS is faster, but you run and back it up yourself.
We have about 400,000 tickets, all in PostgreSQL 16. So pgvector, I think. My colleague Jonas prefers FAISS.
With 400,000 rows an HNSW index in pgvector answers in a few milliseconds. Operations will be much simpler.
I told Jonas we go with pgvector. He will write the migration by the end of next week.
Ask him to build the index after the bulk load; it is several times faster that way.
Will do. How much memory does the index need?
For 400,000 vectors of 384 numbers plan about one gigabyte for the HNSW index, and set maintenance_work_mem to two.
Good. By the way, I'm vegetarian and I can't eat nuts, so when I ask for recipes please keep that in mind.
Noted: vegetarian, no nuts.
What could I cook for six people on my farewell evening? One oven, no starter.
A baked aubergine parmigiana with a green salad and focaccia. You can prepare it the day before.
Nice. Two of them don't drink alcohol. What goes with it?
A bitter lemon and rosemary spritz, or a good tomato juice with celery salt.
I sent the invitations for 30 August. Seven people said yes, so we are eight with me and Tom.
Then take two trays of parmigiana: about three kilos of aubergines and one and a half litres of tomato sauce.
My knee hurts again after running, on the outside. I ran 12 kilometres on Sunday.
That place often means the iliotibial band. Rest a few days, then shorter runs, and strengthen the hip.
The physio said the same two years ago. I was going to run the half marathon in Porto on 5 October.
Seven weeks are enough if it calms down within ten days. Start with 4 kilometres and stop if it hurts.
OK, I'll book the physio for Thursday and won't run until then.
Good plan. Write down after each run where it hurts and how much, from 0 to 10.
Back to the move: the removal company wants 1,850 euros for 12 cubic metres. Is that fair?
For Ghent to Porto as a shared load, 1,400 to 2,000 euros is usual. Ask what the insurance covers.
The insurance covers 20,000 euros, with 250 euros of excess. They pick up on 2 September between 8 and 10.
That is decent. Photograph the furniture before they load it.
I decided to take them. The deposit is 370 euros and I paid it today.
Then the removal is settled: pick-up on 2 September, 1,480 euros still to pay.
Can I bring Pico on the plane? I would rather not.
At 28 kilos he would travel in the hold. By car it is about 2,000 kilometres, three days with stops.
Tom will drive with Pico and me, then fly back from Porto on 6 September.
Plan the nights near Bordeaux and Burgos; both have many hotels that take large dogs.
Could you find out which papers Pico needs for France, Spain and Portugal?
An EU pet passport, a microchip and a rabies vaccination that is at least 21 days old. Nothing else inside the EU.
His rabies vaccination is from March, valid for three years. So he's fine.
Yes, he is ready.
Work again: the billing service sends some invoices twice when the worker restarts. Any idea?
Probably the job is not idempotent. Store a key for each invoice and month with a unique constraint, and send only after the insert.
We do have a unique constraint, but on the database of the replica. The writes go elsewhere.
Then the check reads stale data. Let the primary decide: insert first, and treat a conflict as already sent.
That was it! I moved the insert to the primary and the duplicates are gone. Marta reviewed it.
Great. Add a test that kills the worker between insert and send.
I'll write that test tomorrow. We call the service Heron, so you know when I mention it.
Heron is the billing service. Got it.
For the language: I speak Dutch, French and English. My Portuguese is beginner level, A1.
With half an hour a day you can reach A2 by December. A tandem partner in Porto will help most.
I'd like to learn in the mornings before work, from 7 to 7.30.
Then do listening on Mondays and Thursdays, reading on Tuesdays, writing on Wednesdays and speaking on Fridays.
Fridays don't work, I have choir rehearsal with the alumni online at 7. Swap it with Wednesday.
Done: speaking on Wednesdays, writing on Saturdays instead of Fridays.
My sister Lotte visits in the last week of October. She uses a wheelchair.
Then a flat with a lift matters for the visit, or a hotel nearby. Much of Bonfim is steep.
You're right, I add a lift to the wish list for the flat. First floor without stairs is fine too.
Wish list now: Bonfim or Cedofeita, up to 950 euros, dog allowed, lift or ground level.
I have a viewing by video on Tuesday at 18.30, Rua do Heroísmo, 920 euros, third floor with lift.
Ask about the width of the lift door for the wheelchair: at least 80 centimetres.
The lift door is 85. The landlord, Senhor Matos, met Pico on video and laughed. I signed!
Wonderful! So the new address is in Rua do Heroísmo. Shall I list what depends on the address?
Yes please, short.
Town hall, consulate, bank, removal company, employer, health insurance and Pico's chip registration.
The knee is much better, 2 out of 10. The physio gave me two exercises for the hip.
Then try 4 kilometres on flat ground this weekend.
I ran 4 and it was fine. Remind me to register for the half marathon before 20 September.
I will remind you: registration for the half marathon by 20 September.
Last one for today: what is still open for the move?
Deregistering in Ghent, telling the seven offices the new address, and paying the remaining 1,480 euros on 2 September.
"""  # noqa: E501 - one message a line

MESSAGES = tuple(
    {"role": "assistant" if number % 2 else "user", "content": line}
    for number, line in enumerate(_SAID.strip().splitlines())
)
