// Where the pages begin.
import "./style.css";

const main = document.getElementById("portal");
if (main) main.textContent = "Pulseward";
