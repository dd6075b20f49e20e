import Testing

@testable import BrokerHarness

@Suite struct HTMLFormTests {
    @Test func theFieldsAreReadInTheirOrder() throws {
        let form = try #require(
            HTMLForm(
                """
                <p class="x">a < b</p><FORM method='POST' action="/login?a=1&amp;b=2">
                <input type=hidden name=token value="a&quot;b &amp;lt; c">
                <label for="username">Name</label><input name="username" autocomplete/>
                <button type="submit">Go</button></form><input name="outside" value="x">
                """))
        #expect(form.action == "/login?a=1&b=2")
        #expect(form.method == "post")
        #expect(form.fields.map(\.name) == ["token", "username"])
        #expect(form.fields.map(\.value) == ["a\"b &lt; c", ""])
    }

    @Test func aFieldIsFilledOnlyIfItIsThere() throws {
        var form = try #require(HTMLForm("<form><input name=a value=1></form>"))
        let filled = form.fill("a", "2")
        let missing = form.fill("b", "2")
        #expect(filled && !missing)
        #expect(form.fields.map(\.value) == ["2"])
    }

    @Test func aFormThatBreaksOffHasNoFields() {
        #expect(HTMLForm("<form")?.fields.isEmpty == true)
    }

    @Test(arguments: ["", "<p>no form</p>", "<", "<formula>"])
    func aPageWithoutAFormHasNone(_ html: String) {
        #expect(HTMLForm(html) == nil)
    }
}
