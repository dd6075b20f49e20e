import Testing

@testable import DevelopmentIdP

@Suite struct PageTests {
    @Test func textCannotBecomeMarkup() {
        #expect(Page.escape("<b a=\"1\" c='2'>&amp;") == "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;")
        #expect(Page.problem("<script>").html.contains("&lt;script&gt;"))
    }
}
