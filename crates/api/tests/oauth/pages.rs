//! The pages: what protects them, and that nothing from outside becomes markup.

use crate::browser::{Browser, html, location, parameter, ticket};
use crate::common::PASSWORD;
use crate::scene::{BACK, CHALLENGE, EMAIL, Scene, address};
use store::PatientId;

#[tokio::test]
async fn every_page_forbids_scripts_frames_and_referrers_elsewhere() {
    let scene = Scene::begin().await;
    let client = scene.client("Diary", false).await;
    let mut browser = Browser::new(&scene.story);
    let login = browser.open(&address(&client, &[])).await;
    let wrong = browser.log_in(&login, EMAIL, "not the password").await;
    let consent = browser.log_in(&login, EMAIL, PASSWORD).await;
    let unknown = browser.open("/health/oauth/authorize").await;
    for page in [&login, &wrong, &consent, &unknown] {
        let policy = page.header("content-security-policy");
        for part in ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"] {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("unsafe") && !policy.contains("script-src"), "{policy}");
        assert_eq!(page.header("referrer-policy"), "same-origin");
        assert_eq!(page.header("x-frame-options"), "DENY");
        assert_eq!(page.header("x-content-type-options"), "nosniff");
        assert_eq!(page.header("cache-control"), "no-store");
        assert!(!html(page).contains("<script"));
    }
    for page in [&login, &wrong, &unknown] {
        assert!(page.header("content-security-policy").contains("form-action 'self';"));
    }
    // Browsers hold the policy of forms against all redirects of the answer, and where an application sends its patients on
    // is not known here.
    assert!(!consent.header("content-security-policy").contains("form-action"));
    let nonces: std::collections::BTreeSet<_> =
        [&login, &wrong, &consent].iter().map(|page| page.header("content-security-policy").to_owned()).collect();
    assert_eq!(nonces.len(), 3, "a nonce counts for one page");
    let mut attributes: Vec<&str> = login.header("set-cookie").split("; ").skip(1).collect();
    attributes.sort_unstable();
    assert_eq!(attributes, ["HttpOnly", "Path=/", "SameSite=Lax"]);
    assert_eq!(browser.open(&address(&client, &[])).await.header("set-cookie"), "", "a browser keeps its cookie");
}

#[tokio::test]
async fn what_comes_from_outside_stays_text() {
    let scene = Scene::begin().await;
    let client = scene.client("<script>alert(1)</script> & \"Sons'", false).await;
    let mut browser = Browser::new(&scene.story);
    let state = "\"><script>alert(2)</script>\r\nSet-Cookie: x=y";
    let login = browser.open(&address(&client, &[("state", state)])).await;
    let escaped = "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;Sons&#39;";
    assert!(html(&login).contains(escaped) && !html(&login).contains("<script"));
    assert!(!html(&login).contains("alert(2)"), "state is not shown at all");
    let name = "\"><img src=x onerror=alert(3)>";
    let wrong = browser.log_in(&login, name, "x").await;
    assert!(html(&wrong).contains("value=\"&quot;&gt;&lt;img src=x onerror=alert(3)&gt;\""));
    let consent = browser.log_in(&login, EMAIL, PASSWORD).await;
    assert!(html(&consent).contains(escaped) && !html(&consent).contains("<script"));

    let answered = location(&browser.submit(&[("ticket", &ticket(&consent)), ("action", "allow")]).await);
    assert!(answered.bytes().all(|byte| byte.is_ascii_graphic()), "{answered}");
    assert_eq!(parameter(&answered, "state").as_deref(), Some(state));

    let unknown = browser.open("/health/oauth/authorize?client_id=%3Cscript%3E&state=%3Cscript%3E").await;
    assert!(!html(&unknown).contains("<script"));
}

#[tokio::test]
async fn a_patient_sees_who_asks_for_what_and_can_say_no() {
    let scene = Scene::begin().await;
    let client = scene.client("Sleep diary", true).await;
    let mut browser = Browser::new(&scene.story);
    let asked =
        [("scope", "patient.read patient.sync"), ("code_challenge", CHALLENGE), ("code_challenge_method", "S256")];
    let login = browser.open(&address(&client, &asked)).await;
    assert!(html(&login).contains("Sleep diary"));
    let consent = browser.log_in(&login, EMAIL, PASSWORD).await;
    for expected in [
        "Sleep diary",
        "read your health data",
        "send measurements in your name",
        "href=\"https://diary.example/privacy\"",
        "https://diary.example/back?from=pulseward",
    ] {
        assert!(html(&consent).contains(expected), "{expected}");
    }
    let answered = location(&browser.submit(&[("ticket", &ticket(&consent)), ("action", "deny")]).await);
    assert!(answered.starts_with(&format!("{BACK}&error=access_denied")), "{answered}");
    assert_eq!(parameter(&answered, "state").as_deref(), Some("s1"));
    assert!(
        scene
            .story
            .platform
            .core
            .users()
            .consents_of(&PatientId::new(scene.grace.uuid.as_str()))
            .await
            .expect("a list")
            .is_empty()
    );

    let read_only = browser.open(&address(&client, &asked[1..])).await;
    let consent = browser.log_in(&read_only, EMAIL, PASSWORD).await;
    assert!(!html(&consent).contains("in your name"));
}
