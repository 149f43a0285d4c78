"""The HTML report: one file that opens offline and answers where a step goes, from headline to single ops.

write_report(Path("report.html"), report_data(...))
"""
