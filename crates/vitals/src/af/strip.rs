//! The strip of a window as a picture: each interval as a bar over time, so that a reader sees how regular they were.

use std::fmt::Write;

use crate::beats::{Beat, plausible};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 48.0;
const BOTTOM: f64 = 28.0;
const TOP: f64 = 28.0;
const LEAST_TOP_MS: f64 = 1200.0;

/// Returns an SVG of the intervals of a window, which ascend in time. Intervals that are not good are hollow. `title`
/// is shown above and has to be free of markup.
pub fn strip_svg(beats: &[Beat], title: &str) -> String {
    let start_ms = beats.first().map_or(0, |beat| beat.time_ms);
    let span_ms = beats.last().map_or(1, |beat| (beat.time_ms - start_ms).max(1)) as f64;
    let longest_ms = beats.iter().filter(|beat| plausible(beat)).map(|beat| beat.rr_ms).fold(LEAST_TOP_MS, f64::max);
    let x = |time_ms: i64| LEFT + (time_ms - start_ms) as f64 / span_ms * (WIDTH - LEFT - 16.0);
    let y = |rr_ms: f64| HEIGHT - BOTTOM - rr_ms.clamp(0.0, longest_ms) / longest_ms * (HEIGHT - BOTTOM - TOP);

    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">\
         <title>{title}</title><rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\
         <g font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\"><text x=\"{LEFT}\" y=\"18\">{title}</text>"
    );
    // Writing to a text cannot fail.
    let mut grid_ms = 0.0;
    while grid_ms <= longest_ms {
        let line_y = y(grid_ms);
        let _ = write!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{line_y:.1}\" y2=\"{line_y:.1}\" stroke=\"#ddd\"/>\
             <text x=\"4\" y=\"{:.1}\">{grid_ms:.0}</text>",
            line_y + 4.0
        );
        grid_ms += 400.0;
    }
    let _ = write!(
        svg,
        "<text x=\"{LEFT}\" y=\"{:.1}\">RR interval, ms, over {:.0} s</text></g>",
        HEIGHT - 8.0,
        span_ms / 1000.0
    );
    for beat in beats {
        let (at, top) = (x(beat.time_ms), y(if beat.rr_ms.is_finite() { beat.rr_ms } else { 0.0 }));
        let colour = if plausible(beat) { "#14507a" } else { "#c05a00" };
        let fill = if plausible(beat) { colour } else { "none" };
        let _ = write!(
            svg,
            "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{:.1}\" y2=\"{top:.1}\" stroke=\"{colour}\"/>\
             <circle cx=\"{at:.1}\" cy=\"{top:.1}\" r=\"3\" fill=\"{fill}\" stroke=\"{colour}\"/>",
            HEIGHT - BOTTOM
        );
    }
    svg.push_str("</svg>");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_interval_is_drawn_within_the_picture() {
        let beats: Vec<Beat> = (0..64)
            .map(|at| Beat {
                time_ms: at * 900,
                rr_ms: if at == 7 { f64::NAN } else { 60.0 * at as f64 },
                good: at != 9,
            })
            .collect();
        let svg = strip_svg(&beats, "AF");
        assert_eq!(svg.matches("<circle").count(), 64);
        // Poor: not good, not finite, and those outside 300 to 2,000 ms.
        assert!(svg.matches("fill=\"none\"").count() > 2);
        assert!(!svg.contains("NaN") && !svg.contains("inf") && !svg.contains("=\"-"));
        assert!(strip_svg(&[], "none").ends_with("</svg>"));
        assert_eq!(strip_svg(&beats[..1], "one").matches("<circle").count(), 1);
    }
}
