import BrokerHarness
import Foundation
import Testing

/// The page with the two phones, and the identity provider's forms, in headless Chromium: every button is pressed, some by the
/// keyboard. The screenshots stay below `.build/screenshots`.
@Suite(.timeLimit(.minutes(10))) struct PageInBrowserTests {
    @Test(.needs(.chromium)) func everyButtonDoesWhatItSays() async throws {
        // Short, so that a token expires while the page is looked at.
        let run = try await DevelopmentRun("--access-token-lifetime", "10")
        let screenshots = Checkout.root.appending(path: ".build/screenshots")
        try? FileManager.default.removeItem(at: screenshots)
        let result = try await ManagedProcess.run(
            "/usr/bin/python3",
            [
                Software.scripts.appending(path: "page_in_browser.py").path, try Software.chromium.path(),
                try run.text("page"), screenshots.path,
            ], within: .seconds(400))
        #expect(result.status == 0, "\(result.output)\n\(result.errors)")
        for name in [
            "idp-login", "idp-second-factor", "idp-consent", "page-before", "page-both-apps", "page-thief",
            "page-session-ended",
        ] {
            let image = try Data(contentsOf: screenshots.appending(path: "\(name).png"))
            #expect(image.starts(with: [0x89, 0x50, 0x4E, 0x47]) && image.count > 5000, "\(name)")
        }
    }
}
