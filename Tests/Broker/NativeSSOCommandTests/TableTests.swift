import NativeSSO
import StrictCoding
import Testing

@testable import native_sso

@Suite struct TableTests {
    private func json(_ result: some CommandResult) -> String {
        var json = JSONWriter()
        result.write(to: &json)
        return String(decoding: json.bytes, as: UTF8.self)
    }

    private static var apps: Table {
        Table(
            "apps",
            [
                ["client_id": .text("mail"), "live": .flag(true), "since": .instant(UnixTime(seconds: 0))],
                ["client_id": .text("a-much-longer-name"), "live": .flag(false), "since": .none],
            ], row: \Record.self)
    }

    /// A row is as wide as `a-much-longer-name` with the others: 48 columns.
    @Test(arguments: [nil, 46, 45]) func aTableThatDoesNotFitIsShownThingByThing(width: Int?) {
        let lines = Presentation.$current.withValue(Presentation(width: width)) { Self.apps.lines }
        guard width == 45 else { return #expect(lines == Self.apps.lines) }
        #expect(
            lines == [
                "client id: mail", "live:      yes", "since:     1970-01-01T00:00:00Z", "",
                "client id: a-much-longer-name", "live:      no", "since:     -",
            ])
    }

    @Test func aPageSaysWhereTheNextBegins() {
        let table = Table("apps", ["mail"]) { ["client_id": .text($0)] }
        #expect(Page(table: table, next: "x.1").lines == ["CLIENT ID", "mail", "There may be more: --after x.1"])
        #expect(json(Page(table: table, next: nil)) == #"{"apps":[{"client_id":"mail"}],"next":null}"#)
    }

    @Test func nothingIsSaidInWords() {
        let table = Table("sharing_groups", [], row: \Record.self)
        #expect(table.lines == ["no sharing groups"])
        #expect(json(table) == #"{"sharing_groups":[]}"#)
    }

    @Test(arguments: [Int64.min, -1, .max])
    func anyInstantCanBeShown(seconds: Int64) {
        #expect(Cell.instant(UnixTime(seconds: seconds)).shown.utf8.count == 20)
    }
}

@Suite struct TerminalTextTests {
    @Test(arguments: [
        ("plain – bücher 例", "plain – bücher 例"),
        ("\u{1B}[2J", "\\u{1b}[2J"),
        ("a\r\nb\tc", "a\\u{d}\\u{a}b\\u{9}c"),
        ("\u{9B}31m\u{7F}", "\\u{9b}31m\\u{7f}"),
        ("user\u{202E}txt.exe", "user\\u{202e}txt.exe"),
        ("a\u{2028}b\u{200B}c", "a\\u{2028}b\\u{200b}c"),
    ])
    func whatATerminalObeysIsEscaped(text: String, expected: String) {
        #expect(TerminalText.escaped(text) == expected)
    }

    @Test func jsonStaysTheSameJSON() throws {
        var json = JSONWriter()
        json.object { $0.member("a", "\u{9B}31m\u{202E}\u{1B}\u{E0001}ü") }
        let escaped = TerminalText.escaped(json: json.bytes)
        #expect(String(decoding: escaped, as: UTF8.self) == #"{"a":"\u009b31m\u202e\u001b\udb40\udc01ü"}"#)
        #expect(try JSONReader.parse(escaped) == JSONReader.parse(json.bytes))
    }
}
