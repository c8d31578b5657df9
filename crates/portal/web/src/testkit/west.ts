// A reader far west of Greenwich, where midnight in UTC is the day before. Imported before what is tested.

process.env.TZ = "America/Lima";
